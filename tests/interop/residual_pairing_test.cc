#include "crope/interop/residual_pairing.h"

#include <numeric>

#include "crope/base/log.h"
#include "crope/model/init.h"
#include "crope/model/model_dir.h"
#include "crope/ops/block_linear.h"
#include "tests/golden_models.h"
#include "tests/tensor_checks.h"

namespace crope::interop {
namespace {

using torch::Tensor;

double tied_share(const Tensor& matrix) {
  return (ops::expand(ops::contract(matrix)).square().sum() / matrix.square().sum()).item<double>();
}

ResidualOrder random_order(int64_t D) {
  const Tensor shuffled = at::randperm(D);
  return {shuffled.const_data_ptr<int64_t>(), shuffled.const_data_ptr<int64_t>() + D};
}

Tensor some_logits(const model::Transformer& model) {
  return model::logits(model, at::arange(40, torch::kInt64).mul(7).remainder(model.config.vocab_size).view({2, 20}));
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
  for (const char* name : {"rope", "more/rope_qk_gain_none"}) {
    const auto model = model::load_model(test::golden_folder(name), log);
    const auto reordered = reorder_residual(model, random_order(model.config.d_model));
    EXPECT_FALSE(at::equal(reordered.embedding, model.embedding));
    EXPECT_EQ(reordered.config.qk_gain, model.config.qk_gain);
    test::expect_close(some_logits(reordered), some_logits(model), 1e-5, name);
  }
}

// A gain shared by a pair is not shared by the pairs of another order: the gains become free.
TEST(ResidualPairing, SharedGainsBecomeFree) {
  const at::NoGradGuard no_grad;
  model::ModelConfig config{.vocab_size = 40, .num_layers = 2, .num_heads = 2, .d_model = 16, .d_ff = 24};
  config.qk_gain = config.norm_gain = model::Gain::pair;
  model::Transformer model = model::make_random_transformer(config);
  for (model::Parameter& parameter : model.parameters) {
    if (parameter.spec.role == model::Role::gain) parameter.value.uniform_(0.5, 1.5);
  }
  const auto reordered = reorder_residual(model, random_order(config.d_model));
  EXPECT_EQ(reordered.config.norm_gain, model::Gain::free);
  EXPECT_EQ(reordered.config.qk_gain, model::Gain::pair) << "heads keep their pairs";
  EXPECT_EQ(reordered.norm.size(0), config.d_model);
  test::expect_close(some_logits(reordered), some_logits(model), 1e-5);
}

}  // namespace
}  // namespace crope::interop
