#include "crope/optim/schedule.h"

#include <gtest/gtest.h>

#include "crope/base/error.h"

namespace crope::optim {
namespace {

TEST(Schedule, ThePapersNumbers) {
  const Schedule paper;
  EXPECT_DOUBLE_EQ(learning_rate(paper, 0), 2e-3 / 50);
  EXPECT_DOUBLE_EQ(learning_rate(paper, 49), 2e-3);
  EXPECT_DOUBLE_EQ(learning_rate(paper, 50), 2e-3);
  EXPECT_DOUBLE_EQ(learning_rate(paper, 50 + (30'000 - 50) / 2), (2e-3 + 4e-4) / 2);
  EXPECT_DOUBLE_EQ(learning_rate(paper, 30'000), 4e-4);
  EXPECT_DOUBLE_EQ(learning_rate(paper, 40'000), 4e-4);
}

TEST(Schedule, ConstantAndWarmupStableDecay) {
  Schedule schedule{
      .kind = ScheduleKind::constant, .lr = 1, .min_lr = 0.5, .warmup_steps = 0, .steps = 10, .decay_share = 0.2};
  EXPECT_EQ(learning_rate(schedule, 0), 1);
  EXPECT_EQ(learning_rate(schedule, 9), 1);
  schedule.kind = ScheduleKind::warmup_stable_decay;
  EXPECT_EQ(learning_rate(schedule, 8), 1);
  EXPECT_EQ(learning_rate(schedule, 9), 0.75);
  EXPECT_EQ(learning_rate(schedule, 10), 0.5);
}

TEST(Schedule, ARunShorterThanItsWarmup) {
  const Schedule schedule{.lr = 1, .min_lr = 0.1, .warmup_steps = 10, .steps = 5};
  EXPECT_DOUBLE_EQ(learning_rate(schedule, 4), 0.5);
  EXPECT_DOUBLE_EQ(learning_rate(schedule, 12), 0.1);
}

TEST(Schedule, NamesAndBadValues) {
  for (const auto kind : {ScheduleKind::cosine, ScheduleKind::constant, ScheduleKind::warmup_stable_decay}) {
    EXPECT_EQ(Choice<ScheduleKind>::by_name(Choice(kind).name(), "schedule"), kind);
  }
  EXPECT_THROW(Choice<ScheduleKind>::by_name("cosin", "schedule"), UsageError);
  EXPECT_NO_THROW(validate(Schedule{}));
  EXPECT_THROW(validate(Schedule{.lr = 0}), UsageError);
  EXPECT_THROW(validate(Schedule{.lr = 1e-3, .min_lr = 2e-3}), UsageError);
  EXPECT_THROW(validate(Schedule{.warmup_steps = -1}), UsageError);
  EXPECT_THROW(validate(Schedule{.steps = 0}), UsageError);
  EXPECT_THROW(validate(Schedule{.decay_share = 2}), UsageError);
}

}  // namespace
}  // namespace crope::optim
