#include "crope/model/attention.h"

#include <algorithm>
#include <cmath>

#include "crope/base/log.h"
#include "crope/model/model_dir.h"
#include "crope/model/norm_gain.h"
#include "crope/ops/rms_norm.h"
#include "tests/golden_models.h"
#include "tests/tensor_checks.h"

namespace crope::model {
namespace {

using torch::Tensor;

TEST(ModelAttention, SplitAndMergeAreInverse) {
  const Tensor x = test::random_tensor({2, 5, 24});
  const Tensor heads = split_heads(x, 3);
  EXPECT_EQ(heads.sizes(), at::IntArrayRef({2, 3, 5, 8}));
  EXPECT_TRUE(at::equal(merge_heads(heads), x));
  // Head h has the pairs 4h to 4h + 3: their real parts, then their imaginary parts.
  EXPECT_TRUE(at::equal(heads[1][2][4], at::cat({x[1][4].narrow(0, 8, 4), x[1][4].narrow(0, 12 + 8, 4)})));
}

Attention random_attention(int64_t D, int64_t H) {
  const auto dense = [&] { return ops::Weight(ops::DenseWeight{test::random_tensor({D, D})}); };
  return {.qkv = {dense(), dense(), dense()},
          .o = dense(),
          .q_norm = test::random_tensor({D / H}),
          .k_norm = test::random_tensor({D / H}),
          .num_heads = H,
          .norm_eps = 1e-6};
}

TEST(ModelAttention, APositionDoesNotSeeTheFuture) {
  const Attention attention = random_attention(16, 2);
  const auto table = ops::rope_table(at::arange(6), 8, 5000, torch::kFloat64);
  const Tensor x = test::random_tensor({1, 6, 16});
  Tensor changed = x.clone();
  changed[0][4] += 1;
  const Tensor before = forward(attention, x, table), after = forward(attention, changed, table);
  EXPECT_TRUE(at::equal(before.narrow(1, 0, 4), after.narrow(1, 0, 4)));
  EXPECT_GT(test::relative_error(after[0][4], before[0][4]), 1e-3);
}

// Relative positions only: shifting all of them changes nothing.
TEST(ModelAttention, DependsOnRelativePositionsOnly) {
  const Attention attention = random_attention(16, 2);
  const Tensor x = test::random_tensor({1, 6, 16});
  const auto at_offset = [&](int64_t offset) {
    return forward(attention, x, ops::rope_table(at::arange(6) + offset, 8, 5000, torch::kFloat64));
  };
  test::expect_close(at_offset(123), at_offset(0), 1e-12);
}

// e^{i phi} x for x[..., D] in halves.
Tensor turned(const Tensor& x, double phi) {
  const auto parts = x.chunk(2, -1);
  return at::cat(
      {parts[0] * std::cos(phi) - parts[1] * std::sin(phi), parts[0] * std::sin(phi) + parts[1] * std::cos(phi)}, -1);
}

// How far block(e^{i phi} x) is from e^{i phi} block(x), block(x) = x + attention(norm(x)), over all layers.
double phase_error(const Transformer& model) {
  const at::NoGradGuard no_grad;
  const ModelConfig& config = model.config;
  const auto table = ops::rope_table(at::arange(9), config.qk_width(), config.rope_theta, torch::kFloat32);
  const Tensor x = test::random_tensor({2, 9, config.d_model}).to(torch::kFloat32);
  double worst = 0;
  for (const Block& block : model.blocks) {
    const Tensor gain = expand_gain(block.attention_norm, config.d_model);
    const auto apply = [&](const Tensor& stream) {
      return stream + forward(block.attention, ops::rms_norm(stream, gain, config.norm_eps), table);
    };
    for (const double phi : {0.3, 1.7, 3.1}) {
      worst = std::max(worst, test::relative_error(apply(turned(x, phi)), turned(apply(x), phi)));
    }
  }
  return worst;
}

// docs/mathematics.md, section 8: with one gain per pair in every norm, tied attention commutes with a common phase.
TEST(ModelAttention, CommutesWithAPhaseWhereGainsAreShared) {
  Log log(nullptr);
  const auto golden = [&](const char* name) { return load_model(test::golden_folder(name), log); };
  const Transformer both = golden("more/crope_all_qk_gain_pair");
  ASSERT_EQ(both.config.norm_gain, model::Gain::pair);
  ASSERT_EQ(both.config.qk_gain, model::Gain::pair);
  EXPECT_LT(phase_error(both), 1e-5);
  // Unequal gains break it: of both norms, of QK-norm alone, and of the norm before the projections alone.
  EXPECT_GT(phase_error(golden("crope_all")), 1e-3);
  const Transformer free_heads = golden("more/crope_all_norm_gain_pair"),
                    free_inputs = golden("more/crope_all_qk_gain_none");
  ASSERT_EQ(free_heads.config.qk_gain, model::Gain::free);
  ASSERT_EQ(free_inputs.config.norm_gain, model::Gain::free);
  EXPECT_GT(phase_error(free_heads), 1e-3);
  EXPECT_GT(phase_error(free_inputs), 1e-3);
}

// With no gains in QK-norm and one per pair elsewhere as well; dense projections do not commute whatever the gains.
TEST(ModelAttention, CommutesWithAPhaseWithoutQkGains) {
  Log log(nullptr);
  const Transformer shared = load_model(test::golden_folder("more/crope_all_qk_gain_pair"), log);
  ModelConfig config = shared.config;
  config.qk_gain = model::Gain::none;
  const auto without_gains = [&](Variant variant) {
    config.variant = variant;
    std::vector<Tensor> values;
    for (const ParameterSpec& spec : parameter_specs(config)) {
      const bool is_gain = spec.role == Role::gain;
      values.push_back((test::random_tensor(spec.shape) * 0.2 + (is_gain ? 1.0 : 0.0)).to(torch::kFloat32));
    }
    return make_transformer(config, values);
  };
  EXPECT_LT(phase_error(without_gains(Variant::crope_all)), 1e-5);
  EXPECT_GT(phase_error(without_gains(Variant::crope_qkv)), 1e-3);
}

}  // namespace
}  // namespace crope::model
