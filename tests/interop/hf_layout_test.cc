#include "crope/interop/hf_layout.h"

#include "crope/base/error.h"
#include "tests/tensor_checks.h"

namespace crope::interop {
namespace {

using torch::Tensor;

model::ModelConfig small(model::Variant variant) {
  model::ModelConfig config;
  config.num_heads = 2;
  config.d_model = 16;
  config.variant = variant;
  return config;
}

const HfName& row(const std::string& ours) {
  for (const HfName& name : hf_layer_names()) {
    if (ours == name.ours) return name;
  }
  throw Error("no such row");
}

TEST(HfLayout, HeadsBecomeHalves) {
  const Tensor disk = at::arange(16).view({16, 1});
  const Tensor expected = at::tensor({0, 2, 4, 6, 1, 3, 5, 7, 8, 10, 12, 14, 9, 11, 13, 15}).view({16, 1});
  EXPECT_TRUE(at::equal(to_hf(disk, row("attention.q"), small(model::Variant::rope)), expected));
  EXPECT_TRUE(at::equal(to_hf(disk, row("attention.v"), small(model::Variant::rope)), disk));
}

TEST(HfLayout, IsInvertedForEveryVariantAndRow) {
  for (const model::VariantTraits& variant : model::kVariants) {
    const model::ModelConfig config = small(variant.variant);
    for (const HfName& name : hf_layer_names()) {
      std::vector<int64_t> shape = hf_shape(config, name);
      if (name.rows != HfRows::same) shape[0] = shape[0] / config.v_width() * config.qk_width();
      const Tensor disk = at::randn(shape);
      const Tensor theirs = to_hf(disk, name, config);
      EXPECT_EQ(theirs.sizes(), at::IntArrayRef(hf_shape(config, name))) << variant.name << " " << name.ours;
      test::expect_close(from_hf(theirs, name, config), disk, 1e-7, name.ours);
    }
  }
}

// Heads that are filled up have the scores of the narrow ones.
TEST(HfLayout, FilledHeadsScoreAsTheNarrowOnes) {
  const model::ModelConfig config = small(model::Variant::half_rope_qk);
  const auto scores = [](const Tensor& q, const Tensor& k, const Tensor& q_gain, const Tensor& k_gain, double eps) {
    const auto norm = [&](const Tensor& x, const Tensor& gain) {
      return x * at::rsqrt(x.square().mean() + eps) * gain;
    };
    return at::dot(norm(q, q_gain), norm(k, k_gain)).item<double>() / std::sqrt(double(q.size(0)));
  };
  const Tensor q = test::random_tensor({8, 1}), k = test::random_tensor({8, 1});  // two heads of four
  const Tensor q_gain = test::random_tensor({4}), k_gain = test::random_tensor({4});
  const Tensor q_wide = to_hf(q, row("attention.q"), config), k_wide = to_hf(k, row("attention.k"), config);
  const double narrow = scores(q.narrow(0, 4, 4).flatten(), k.narrow(0, 4, 4).flatten(), q_gain, k_gain, 0.1);
  const double wide =
      scores(q_wide.narrow(0, 8, 8).flatten(), k_wide.narrow(0, 8, 8).flatten(),
             to_hf(q_gain, row("attention.q_norm"), config), to_hf(k_gain, row("attention.k_norm"), config), 0.1);
  EXPECT_NEAR(narrow, wide, 1e-12);
}

TEST(HfLayout, ChangedFillingIsRefused) {
  const model::ModelConfig config = small(model::Variant::half_rope_qk);
  Tensor theirs = to_hf(at::randn({8, 3}), row("attention.q"), config);
  theirs[1][0] += 1;
  EXPECT_THROW(from_hf(theirs, row("attention.q"), config), ChangedSinceExport);
}

}  // namespace
}  // namespace crope::interop
