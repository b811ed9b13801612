#include "crope/infer/packed_weights.h"

#include "tests/infer/small_model.h"

namespace crope::infer {
namespace {

TEST(PackedWeights, TheModelStaysTheSame) {
  for (const model::VariantTraits& row : model::kVariants) {
    const model::Transformer model = test::small_model(row.variant);
    const model::Transformer packed = pack_weights(model);
    ASSERT_EQ(packed.parameters.size(), model.parameters.size());
    for (std::size_t i = 0; i < model.parameters.size(); ++i) {
      EXPECT_EQ(packed.parameters[i].spec.name, model.parameters[i].spec.name);
      EXPECT_TRUE(packed.parameters[i].value.equal(model.parameters[i].value));
    }
    const auto ids = test::draw_ids(1, 9);
    EXPECT_TRUE(test::uncached_logits(packed, ids).equal(test::uncached_logits(model, ids)));
  }
}

TEST(PackedWeights, WeightsStandBehindEachOtherAndOutliveTheModel) {
  at::Tensor norm;
  {
    const model::Transformer packed =
        pack_weights(test::rounded_model(test::small_model(model::Variant::rope), at::kBFloat16));
    const auto* first = static_cast<const std::byte*>(packed.parameters.front().value.const_data_ptr());
    const auto* last = static_cast<const std::byte*>(packed.parameters.back().value.const_data_ptr());
    EXPECT_GT(last, first);
    EXPECT_EQ((last - first) % 256, 0);
    norm = packed.norm;
  }
  EXPECT_EQ(norm.sum().item<float>(), 24.0f);
}

}  // namespace
}  // namespace crope::infer
