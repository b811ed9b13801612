#include "crope/infer/token_losses.h"

#include "tests/infer/small_model.h"

namespace crope::infer {
namespace {

TEST(TokenLosses, AreThoseOfTheForwardPass) {
  const model::Transformer model = test::small_model(model::Variant::crope_all, 200);
  Decoder decoder(model);
  for (const std::size_t count : {2, 3, 65, 66, 201}) {
    const std::vector<std::int32_t> ids = test::draw_ids(count, count);
    const std::vector<std::int64_t> wide(ids.begin(), ids.end());
    const at::Tensor expected = model::token_losses(model, at::tensor(wide, at::kLong));
    const at::Tensor got = token_losses(decoder, ids);
    ASSERT_EQ(got.sizes(), expected.sizes());
    EXPECT_LT((got - expected).abs().max().item<double>(), 1e-4);
  }
  EXPECT_EQ(token_losses(decoder, std::vector<std::int32_t>{1}).size(0), 0);
}

}  // namespace
}  // namespace crope::infer
