#include "crope/interop/residual_pairing.h"

#include <numeric>

#include "crope/base/log.h"
#include "crope/model/model_dir.h"
#include "crope/ops/block_linear.h"
#include "tests/tensor_checks.h"

namespace crope::interop {
namespace {

using torch::Tensor;

double tied_share(const Tensor& matrix) {
  return (ops::expand(ops::contract(matrix)).square().sum() / matrix.square().sum()).item<double>();
}

TEST(ResidualPairing, FindsPairsThatWereShuffled) {
  const Tensor tied = ops::expand({test::random_tensor({40, 7}), test::random_tensor({40, 7})});  // of 14 coordinates
  const Tensor shuffled = tied.index_select(1, at::randperm(14));
  EXPECT_LT(tied_share(shuffled), 0.9);
  const ResidualOrder order = pair_for({shuffled});
  EXPECT_NEAR(tied_share(shuffled.index_select(1, at::tensor(order))), 1, 1e-12);
}

TEST(ResidualPairing, NeverKeepsLessThanTheGivenPairs) {
  for (int round = 0; round < 20; ++round) {
    const Tensor matrix = test::random_tensor({6, 8});
    ResidualOrder order = pair_for({matrix});
    EXPECT_GE(tied_share(matrix.index_select(1, at::tensor(order))), tied_share(matrix) - 1e-12);
    std::ranges::sort(order);
    ResidualOrder all(8);
    std::iota(all.begin(), all.end(), 0);
    EXPECT_EQ(order, all) << "an order has every coordinate once";
  }
}

TEST(ResidualPairing, AnotherOrderIsTheSameFunction) {
  Log log(nullptr);
  const at::NoGradGuard no_grad;
  const auto model = model::load_model(std::string(CROPE_SOURCE_DIR) + "/tests/data/goldens/rope", log);
  const Tensor shuffled = at::randperm(model.config.d_model);
  const ResidualOrder order(shuffled.const_data_ptr<int64_t>(),
                            shuffled.const_data_ptr<int64_t>() + model.config.d_model);
  const Tensor ids = at::randint(model.config.vocab_size, {2, 20}, torch::kInt64);
  const auto reordered = reorder_residual(model, order);
  EXPECT_FALSE(at::equal(reordered.embedding, model.embedding));
  test::expect_close(model::logits(reordered, ids), model::logits(model, ids), 1e-5);
}

}  // namespace
}  // namespace crope::interop
