#include "crope/model/folded_gains.h"

#include "crope/base/error.h"
#include "crope/base/log.h"
#include "crope/model/model_dir.h"
#include "tests/golden_models.h"
#include "tests/tensor_checks.h"

namespace crope::model {
namespace {

using torch::Tensor;

// Two heads of width 4 in halves: rows are re0 re1 | re2 re3 | im0 im1 | im2 im3, heads inside each half.
TEST(FoldedGains, EveryHeadHasTheSameRowGains) {
  const Tensor ones = at::ones({8, 2}, at::kDouble);
  const Tensor folded = fold_gains(ones, {.input = {}, .head = at::tensor({2.0, 3.0, 5.0, 7.0})});
  const Tensor rows = at::tensor({2.0, 3.0, 2.0, 3.0, 5.0, 7.0, 5.0, 7.0}, at::kDouble);
  EXPECT_TRUE(at::equal(folded, rows.unsqueeze(1).expand({8, 2})));
  EXPECT_TRUE(at::equal(fold_gains(ones, {}), ones));
}

TEST(FoldedGains, GainsOfAnotherWidthAreRefused) {
  const Tensor w = at::ones({8, 6});
  EXPECT_THROW(fold_gains(w, {.input = at::ones({8}), .head = {}}), Error);
  EXPECT_THROW(fold_gains(w, {.input = {}, .head = at::ones({6})}), Error);
  EXPECT_THROW(fold_gains(w, {.input = {}, .head = at::ones({1})}), Error);
}

// With q_norm's own division left out, the folded matrix takes x / rms(x) to a multiple of what attention reads.
TEST(FoldedGains, FoldedProjectionsReadTheStreamBeforeTheGain) {
  const at::NoGradGuard no_grad;
  Log silent(nullptr);
  for (const std::string& name : test::golden_models()) {
    const Transformer model = load_model(test::golden_folder(name), silent);
    const LayerInput input = layer_input(model, at::arange(6).view({1, 6}), 1);
    const auto gains = surrounding_gains(model, 1, 'v');
    const Tensor x = input.x.to(at::kDouble).view({6, -1});
    const Tensor v = ops::project(input.x, input.block.attention.qkv)[2].view({6, -1});
    test::expect_close((x / gains.input).mm(folded_projection(model, 1, 'v').t()), v, 1e-5, name);
    EXPECT_FALSE(gains.head.defined());
    EXPECT_EQ(surrounding_gains(model, 1, 'q').head.defined(), model.config.qk_norm) << name;
  }
}

}  // namespace
}  // namespace crope::model
