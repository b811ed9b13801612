#include "crope/analysis/shared_structure.h"

#include "crope/model/complex_structure.h"
#include "crope/model/init.h"
#include "crope/ops/block_linear.h"
#include "tests/tensor_checks.h"

namespace crope::analysis {
namespace {

using torch::Tensor;

constexpr int64_t kWidth = 16;

model::Transformer random_model(std::int64_t layers) {
  return model::make_random_transformer(
      {.vocab_size = 32, .num_layers = layers, .num_heads = 2, .d_model = kWidth, .d_ff = 8}, {.seed = 3});
}

// Q of every layer complex-linear under one hidden structure; K and V as they are.
Tensor hide_structure_in_queries(model::Transformer& model) {
  const Tensor turn = std::get<0>(at::linalg_qr(test::random_tensor({kWidth, kWidth})));
  for (model::Block& block : model.blocks) {
    auto& weight = std::get<ops::DenseWeight>(block.attention.qkv[0]).weight;
    const Tensor tied = ops::expand({test::random_tensor({8, 8}), test::random_tensor({8, 8})});
    weight.copy_(tied.mm(turn));
  }
  return turn.t().mm(model::given_structure(kWidth)).mm(turn);
}

TEST(SharedStructure, FindsTheOneThatAllQueriesShare) {
  model::Transformer model = random_model(4);
  const Tensor hidden = hide_structure_in_queries(model);
  const auto all = shared_structures(model);
  ASSERT_EQ(all.size(), 4u);
  const StructureOfProjections& q = all[0];
  EXPECT_EQ(q.projections, "q");
  EXPECT_NEAR(q.best_share, 1, 1e-6);
  EXPECT_LT(q.null_mean, 0.95);
  test::expect_close(q.structure, hidden, 1e-5);
  test::expect_close(q.of_parity[0], hidden, 1e-5);
  EXPECT_NEAR(q.held_out->share, 1, 1e-6);
  for (const HeldOutShare& quarter : q.held_out_by_quarter) EXPECT_NEAR(quarter.share, 1, 1e-6);
  for (const LayerShare& layer : q.layers) {
    EXPECT_NEAR(layer.all.share, 1, 1e-6);
    ASSERT_EQ(layer.by_frequency.size(), 4u) << "pairs of a head of width 8";
    for (const double share : layer.by_frequency) EXPECT_NEAR(share, 1, 1e-6);
  }
  EXPECT_EQ(all[3].projections, "qk");
  EXPECT_LT(all[3].best_share, 0.99);
  EXPECT_GT(all[3].best_share, 0.5);
}

// Without a shared structure the best share is what coin flips reach, and the held-out share one half.
TEST(SharedStructure, RandomWeightsAreAsTheNull) {
  const model::Transformer model = random_model(12);
  for (const StructureOfProjections& of : shared_structures(model, {.null_rounds = 30})) {
    EXPECT_GT(of.best_share, 0.55) << of.projections << ": fitted to what it is measured on";
    EXPECT_NEAR(of.best_share, of.null_mean, 5 * of.null_deviation) << of.projections;
    EXPECT_NEAR(of.held_out->share, 0.5, 5 * of.held_out->deviation) << of.projections;
    EXPECT_NEAR(of.given_share, 0.5, 0.1) << of.projections;
    for (const HeldOutShare& quarter : of.held_out_by_quarter) {
      EXPECT_NEAR(quarter.share, 0.5, 5 * quarter.deviation) << of.projections;
    }
  }
}

// The shares of layers and quarters are parts of the shares of all.
TEST(SharedStructure, SharesAddUp) {
  const auto all = shared_structures(random_model(3));
  for (const StructureOfProjections& of : all) {
    EXPECT_EQ(of.layers.size(), 3u);
    // Only layer 1 is odd.
    EXPECT_NEAR(of.layers[1].all.share, of.held_out->share, 1e-12) << of.projections;
    EXPECT_NEAR(of.layers[1].all.deviation, of.held_out->deviation, 1e-12) << of.projections;
    for (std::size_t quarter = 0; quarter < kQuarters; ++quarter) {
      EXPECT_NEAR(of.layers[1].by_frequency[quarter], of.held_out_by_quarter[quarter].share, 1e-12) << "one pair each";
    }
    EXPECT_NE(of.held_out_by_quarter[0].share, of.held_out_by_quarter[3].share);
    EXPECT_LE(of.held_out->share, of.best_share);
  }
}

// Tied projections are complex-linear in the given pairs, as long as the gains are ones.
TEST(SharedStructure, TiedModelsHaveTheGivenOne) {
  const auto model = model::make_random_transformer({.vocab_size = 32,
                                                     .num_layers = 2,
                                                     .num_heads = 2,
                                                     .d_model = kWidth,
                                                     .d_ff = 8,
                                                     .variant = model::Variant::crope_qk,
                                                     .num_kv_heads = 1});
  for (const StructureOfProjections& of : shared_structures(model, {.null_rounds = 2})) {
    if (of.projections == "v") {
      EXPECT_LT(of.given_share, 0.9);
      continue;
    }
    EXPECT_NEAR(of.given_share, 1, 1e-12) << of.projections;
    EXPECT_NEAR(of.best_share, 1, 1e-9) << of.projections;
    if (of.projections != "k") test::expect_close(of.structure, model::given_structure(kWidth), 1e-6);
  }
}

TEST(SharedStructure, OneLayerHasNothingHeldOut) {
  for (const StructureOfProjections& of : shared_structures(random_model(1))) {
    EXPECT_FALSE(of.held_out.has_value());
    EXPECT_TRUE(of.layers.empty());
    EXPECT_GT(of.best_share, 0.5);
  }
}

TEST(SharedStructure, ARandomStructureIsOne) {
  const Tensor J = random_structure(10, 1);
  test::expect_close(J.mm(J), -at::eye(10, at::kDouble), 1e-12);
  test::expect_close(J.mm(J.t()), at::eye(10, at::kDouble), 1e-12);
  EXPECT_GT(test::relative_error(random_structure(10, 2), J), 0.5);
  EXPECT_TRUE(at::equal(random_structure(10, 1), J));
}

TEST(SharedStructure, QuartersCoverEveryFrequencyOnce) {
  for (const std::int64_t F : {1, 2, 3, 4, 7, 32}) {
    EXPECT_EQ(first_frequency(0, F), 0);
    EXPECT_EQ(first_frequency(kQuarters, F), F);
    for (std::size_t i = 0; i < kQuarters; ++i) EXPECT_LE(first_frequency(i, F), first_frequency(i + 1, F));
  }
}

}  // namespace
}  // namespace crope::analysis
