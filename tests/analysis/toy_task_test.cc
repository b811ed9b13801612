#include "crope/analysis/toy_task.h"

#include <gtest/gtest.h>

#include "crope/base/error.h"

namespace crope::analysis {
namespace {

TEST(ToyTask, RotaryLayersLearnItAndAbsolutePositionsDoNotCarryOver) {
  const ToyOptions options{.D = 64, .steps = 150, .seeds = {0}, .first_positions = {0, 512}};
  for (const ToyKind kind : {ToyKind::rope, ToyKind::crope}) {
    const ToyRun run = train_toy(kind, 0, options);
    EXPECT_NEAR(run.accuracy.front(), 1.0 / 8, 0.06);
    EXPECT_GT(run.accuracy.back(), 0.95) << toy_kind_name(kind);
    EXPECT_GT(run.moved_accuracy[1], run.moved_accuracy[0] - 0.01) << toy_kind_name(kind);
  }
  const ToyRun absolute = train_toy(ToyKind::absolute, 0, options);
  EXPECT_LT(absolute.moved_accuracy[1], absolute.moved_accuracy[0] - 0.2);
}

TEST(ToyTask, TheSameSeedGivesTheSameRun) {
  const ToyOptions options{.D = 16, .steps = 4, .evaluate_every = 2, .first_positions = {0}};
  const ToyRun first = train_toy(ToyKind::crope, 7, options), second = train_toy(ToyKind::crope, 7, options);
  EXPECT_EQ(first.steps, (std::vector<std::int64_t>{0, 2, 4}));
  EXPECT_EQ(first.accuracy, second.accuracy);
  EXPECT_EQ(first.moved_accuracy, second.moved_accuracy);
}

TEST(ToyTask, ComplexLinearProjectionsHaveHalfTheParameters) {
  const ToyOptions options{.D = 16, .steps = 1, .first_positions = {}};
  const auto count = [&](ToyKind kind) { return train_toy(kind, 0, options).parameters; };
  EXPECT_EQ(count(ToyKind::rope), 3 * 16 * 16);
  EXPECT_EQ(count(ToyKind::absolute), 3 * 16 * 16);
  EXPECT_EQ(count(ToyKind::crope), 3 * 16 * 16 / 2);
  EXPECT_EQ(count(ToyKind::half_rope), 3 * 16 * 16 / 2);
  EXPECT_EQ(count(ToyKind::relative), 3 * 16 * 16 + (2 * 24 - 1) * 16);
}

TEST(ToyTask, ImpossibleSizesAreRefused) {
  EXPECT_THROW(train_toy(ToyKind::rope, 0, {.D = 12}), UsageError);
  EXPECT_THROW(train_toy(ToyKind::rope, 0, {.T = 2}), UsageError);
  EXPECT_THROW(train_toy(ToyKind::rope, 0, {.steps = 0}), UsageError);
}

}  // namespace
}  // namespace crope::analysis
