#include "crope/analysis/function_space.h"

#include <cmath>

#include "crope/base/error.h"
#include "crope/base/log.h"
#include "crope/model/folded_gains.h"
#include "crope/model/init.h"
#include "crope/model/model_dir.h"
#include "crope/model/pair_layout.h"
#include "tests/golden_models.h"
#include "tests/tensor_checks.h"

namespace crope::analysis {
namespace {

using torch::Tensor;

TEST(FunctionSpace, EachBasisMatrixHasOneEnergy) {
  const std::vector<Tensor> basis = {at::tensor({1.0, 0.0, 0.0, 1.0}), at::tensor({0.0, 1.0, 1.0, 0.0}),
                                     at::tensor({0.0, 1.0, -1.0, 0.0}), at::tensor({1.0, 0.0, 0.0, -1.0})};
  for (std::size_t i = 0; i < basis.size(); ++i) {
    const PauliEnergies energies = pauli_energies(basis[i].view({2, 2}));
    for (std::size_t j = 0; j < 4; ++j) EXPECT_DOUBLE_EQ(energies.sigma[j], i == j ? 2.0 : 0.0) << i << " " << j;
  }
}

TEST(FunctionSpace, EnergiesAddUpToTheSquaredNorm) {
  for (const auto& shape : std::vector<std::vector<int64_t>>{{2, 2}, {6, 10}, {64, 32}}) {
    const Tensor w = test::random_tensor(shape);
    const double norm = w.square().sum().item<double>();
    EXPECT_NEAR(pauli_energies(w).total(), norm, 1e-12 * norm);
  }
}

TEST(FunctionSpace, PairsOfTheFileAreTheBlocks) {
  // One block of sigma1 at the pair (1, 0) of the file's layout.
  Tensor pairs = at::zeros({4, 4}, at::kDouble);
  pairs[2][1] = 3;
  pairs[3][0] = 3;
  const std::vector<int> both = {0, 1};
  const PauliEnergies energies = pauli_energies(model::pairs_to_halves(pairs, both));
  EXPECT_DOUBLE_EQ(energies.sigma[1], 18);
  EXPECT_DOUBLE_EQ(energies.total(), 18);
}

TEST(FunctionSpace, TiedWeightsHaveNoReflections) {
  model::ModelConfig config{.vocab_size = 32, .num_layers = 2, .num_heads = 2, .d_model = 16, .d_ff = 8};
  for (const model::VariantTraits& variant : model::kVariants) {
    config.variant = variant.variant;
    const auto all = projection_energies(model::make_random_transformer(config));
    ASSERT_EQ(all.size(), 8u);
    for (const ProjectionEnergies& each : all) {
      EXPECT_NEAR(each.energies.total(), each.squared_norm, 1e-12 * each.squared_norm);
      const bool tied = each.projection == 'v'   ? variant.ties_v
                        : each.projection == 'o' ? variant.ties_o
                                                 : variant.ties_qk;
      EXPECT_EQ(each.tied, tied) << variant.name << each.projection;
      if (tied) {
        EXPECT_LE(each.energies.conjugate_linear_share(), 1e-14);
      } else {
        const RandomShare expected = random_share(each.rows, each.columns);
        EXPECT_NEAR(each.energies.conjugate_linear_share(), expected.mean, 5 * expected.deviation);
      }
    }
  }
}

// One tied block [[a, b], [-b, a]], and the energies that docs/mathematics.md, section 8, works out for its gains.
TEST(FunctionSpace, GainsFoldIntoABlockAsByHand) {
  const double a = 3, b = -2, r1 = 1.5, r2 = 0.5, c1 = 2, c2 = 0.25;
  const Tensor block = at::tensor({a, b, -b, a}, at::kDouble).view({2, 2});
  const Tensor folded =
      model::fold_gains(block, {.input = at::tensor({c1, c2}, at::kDouble), .head = at::tensor({r1, r2}, at::kDouble)});
  const Tensor expected = at::tensor({r1 * a * c1, r1 * b * c2, -r2 * b * c1, r2 * a * c2}, at::kDouble).view({2, 2});
  EXPECT_TRUE(at::equal(folded, expected));
  const PauliEnergies energies = pauli_energies(folded);
  const auto square = [](double x) { return x * x; };
  const double conjugate = (square(a * (r1 * c1 - r2 * c2)) + square(b * (r1 * c2 - r2 * c1))) / 2;
  const double total =
      square(a) * (square(r1 * c1) + square(r2 * c2)) + square(b) * (square(r1 * c2) + square(r2 * c1));
  EXPECT_NEAR(energies.sigma[1] + energies.sigma[3], conjugate, 1e-12 * total);
  EXPECT_NEAR(energies.total(), total, 1e-12 * total);
}

// Free gains make tied projections slightly conjugate-linear; one gain per pair, or none, does not.
TEST(FunctionSpace, GoldensWithTheirGainsFoldedIn) {
  Log silent(nullptr);
  for (const std::string& name : test::golden_models()) {
    const model::Transformer model = model::load_model(test::golden_folder(name), silent);
    const bool in_pairs = model.config.norm_gain == model::Gain::pair;
    const bool heads_in_pairs = model.config.qk_gain != model::Gain::free;
    for (const ProjectionEnergies& each : projection_energies(model)) {
      const std::string what = name + " " + each.projection + std::to_string(each.layer);
      EXPECT_NEAR(each.effective.total(), each.effective_squared_norm, 1e-12 * each.effective_squared_norm) << what;
      if (each.projection == 'o') {
        EXPECT_EQ(each.effective.sigma, each.energies.sigma) << what;
        continue;
      }
      EXPECT_NE(each.effective.sigma, each.energies.sigma) << what << ": the goldens' gains are not ones";
      if (!each.tied) {
        EXPECT_GT(each.effective.conjugate_linear_share(), 0.2) << what;
      } else if (in_pairs && (each.projection == 'v' || heads_in_pairs)) {
        EXPECT_LE(each.effective.conjugate_linear_share(), 1e-12) << what;
      } else {
        EXPECT_GT(each.effective.conjugate_linear_share(), 1e-4) << what;
        EXPECT_LT(each.effective.conjugate_linear_share(), 0.1) << what;
      }
    }
  }
}

TEST(FunctionSpace, RandomShareHasTheDeviationItClaims) {
  double sum = 0, sum_of_squares = 0;
  constexpr int kCount = 2000;
  at::manual_seed(1);
  for (int i = 0; i < kCount; ++i) {
    const double share = pauli_energies(at::randn({8, 6}, at::kDouble)).conjugate_linear_share();
    sum += share;
    sum_of_squares += share * share;
  }
  const double mean = sum / kCount, deviation = std::sqrt(sum_of_squares / kCount - mean * mean);
  const RandomShare expected = random_share(8, 6);
  EXPECT_NEAR(mean, expected.mean, 4 * expected.deviation / std::sqrt(kCount));
  EXPECT_NEAR(deviation, expected.deviation, 0.06 * expected.deviation);  // its own error is 1/sqrt(2 count) = 1.6%
}

}  // namespace
}  // namespace crope::analysis
