#include "crope/interop/residual_rotation.h"

#include "crope/base/log.h"
#include "crope/interop/residual_pairing.h"
#include "crope/model/init.h"
#include "crope/model/model_dir.h"
#include "crope/ops/block_linear.h"
#include "tests/golden_models.h"
#include "tests/tensor_checks.h"

namespace crope::interop {
namespace {

using torch::Tensor;

double tied_share_of(const std::vector<Tensor>& matrices) {
  double tied = 0, all = 0;
  for (const Tensor& matrix : matrices) {
    tied += ops::expand(ops::contract(matrix)).square().sum().item<double>();
    all += matrix.square().sum().item<double>();
  }
  return tied / all;
}

std::vector<Tensor> turned(const std::vector<Tensor>& matrices, const Tensor& R) {
  std::vector<Tensor> result;
  for (const Tensor& matrix : matrices) result.push_back(matrix.mm(R.t()));
  return result;
}

Tensor random_rotation(int64_t D) {
  return std::get<0>(at::linalg_qr(test::random_tensor({D, D})));
}

void expect_orthogonal(const Tensor& R) {
  EXPECT_LE((R.mm(R.t()) - at::eye(R.size(0), R.options())).abs().max().item<double>(), 1e-10);
}

TEST(ResidualRotation, FindsAStructureThatWasTurnedAway) {
  const Tensor away = random_rotation(14);
  const std::vector<Tensor> matrices = turned({ops::expand({test::random_tensor({9, 7}), test::random_tensor({9, 7})}),
                                               ops::expand({test::random_tensor({4, 7}), test::random_tensor({4, 7})})},
                                              away);
  EXPECT_LT(tied_share_of(matrices), 0.9);
  const Tensor R = best_rotation(matrices);
  expect_orthogonal(R);
  EXPECT_NEAR(tied_share_of(turned(matrices, R)), 1, 1e-10);
}

// The closed form: 1/2 + |S|_* / E, and no other rotation keeps more.
TEST(ResidualRotation, KeepsWhatTheClosedFormSays) {
  const std::vector<Tensor> matrices = {test::random_tensor({6, 10}), test::random_tensor({8, 10})};
  Tensor skew = at::zeros({10, 10}, torch::kFloat64);
  double energy = 0;
  for (const Tensor& matrix : matrices) {
    const Tensor product = matrix.chunk(2, 0)[0].t().mm(matrix.chunk(2, 0)[1]);
    skew += (product - product.t()) / 2;
    energy += matrix.square().sum().item<double>();
  }
  const double best = 0.5 + at::linalg_svdvals(skew).sum().item<double>() / energy;
  EXPECT_NEAR(tied_share_of(turned(matrices, best_rotation(matrices))), best, 1e-10);
  for (int round = 0; round < 30; ++round) {
    EXPECT_LE(tied_share_of(turned(matrices, random_rotation(10))), best + 1e-12);
  }
  const Tensor order = at::tensor(pair_for(matrices));
  EXPECT_LE(tied_share_of({matrices[0].index_select(1, order), matrices[1].index_select(1, order)}), best + 1e-12);
}

// Two pairs of rows orient four of the twelve coordinates; the others may lie anywhere.
TEST(ResidualRotation, CoordinatesWithoutOrientationAreCompleted) {
  const std::vector<Tensor> matrices = {test::random_tensor({4, 12})};
  const Tensor R = best_rotation(matrices);
  expect_orthogonal(R);
  EXPECT_GT(tied_share_of(turned(matrices, R)), tied_share_of(matrices));
  expect_orthogonal(best_rotation({at::zeros({4, 6}, torch::kFloat64)}));
}

TEST(ResidualRotation, ATurnedModelIsTheSameFunction) {
  const at::NoGradGuard no_grad;
  Log log(nullptr);
  for (const char* name : {"rope", "more/rope_grouped", "more/rope_qk_gain_none"}) {
    model::Transformer model = model::load_model(test::golden_folder(name), log);
    for (model::Parameter& parameter : model.parameters) {
      if (parameter.spec.role == model::Role::gain) parameter.value.uniform_(0.5, 2);
    }
    const model::Transformer turned_model = rotate_residual(model, best_rotation(rows_with_gains(model)));
    EXPECT_FALSE(turned_model.config.tie_embeddings);
    const Tensor ids = at::arange(40, torch::kInt64).mul(7).remainder(model.config.vocab_size).view({2, 20});
    test::expect_close(model::logits(turned_model, ids), model::logits(model, ids), 1e-5, name);
    EXPECT_GT(tied_share_of(rows_with_gains(turned_model)), tied_share_of(rows_with_gains(model)));
  }
}

TEST(ResidualRotation, SharedGainsAndAnOutputOfItsOwn) {
  const at::NoGradGuard no_grad;
  model::ModelConfig config{.vocab_size = 40, .num_layers = 2, .num_heads = 2, .d_model = 16, .d_ff = 24};
  config.norm_gain = model::Gain::pair;
  config.tie_embeddings = false;
  model::Transformer model = model::make_random_transformer(config, {.embedding_std = 1});
  for (model::Parameter& parameter : model.parameters) {
    if (parameter.spec.role == model::Role::gain) parameter.value.uniform_(0.5, 2);
  }
  const model::Transformer turned_model = rotate_residual(model, random_rotation(16));
  EXPECT_EQ(turned_model.config.norm_gain, model::Gain::free);
  EXPECT_EQ(turned_model.parameters.size(), model.parameters.size());
  const Tensor ids = at::arange(40, torch::kInt64).view({2, 20});
  test::expect_close(model::logits(turned_model, ids), model::logits(model, ids), 1e-5);
}

}  // namespace
}  // namespace crope::interop
