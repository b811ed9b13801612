#include "crope/study/stability.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

namespace crope::study {
namespace {

// 200 falling losses with some noise.
StudyRun smooth_run() {
  StudyRun run{.name = "rope_0", .variant = "rope", .warmup_steps = 20};
  for (int step = 1; step <= 200; ++step) {
    run.steps.push_back({.step = step,
                         .loss = 3 + 4 * std::exp(-step / 20.0) + 0.05 * std::sin(step * 12.9898),
                         .grad_norm = 1 + 0.5 * std::sin(step * 78.233)});
  }
  return run;
}

TEST(Stability, ASmoothRunIsStable) {
  const Stability result = check_stability(smooth_run());
  EXPECT_TRUE(result.is_stable) << result.problem;
  EXPECT_EQ(result.steps_checked, 150u);
}

TEST(Stability, AJumpOfTheLossIsASpike) {
  StudyRun run = smooth_run();
  run.steps[119].loss = 3.45;
  EXPECT_TRUE(check_stability(run).is_stable);
  run.steps[119].loss = 3.7;
  const Stability result = check_stability(run);
  EXPECT_FALSE(result.is_stable);
  EXPECT_TRUE(result.problem.starts_with("rope_0, step 120: loss 3.700, median 3.0")) << result.problem;
}

TEST(Stability, AJumpOfTheGradientNormIsASpike) {
  StudyRun run = smooth_run();
  run.steps[119].grad_norm = 9;
  EXPECT_TRUE(check_stability(run).is_stable);
  run.steps[119].grad_norm = 16;
  EXPECT_FALSE(check_stability(run).is_stable);
}

TEST(Stability, ValuesThatAreNotFiniteAreSpikes) {
  StudyRun run = smooth_run();
  run.steps[30].loss = std::numeric_limits<double>::quiet_NaN();
  EXPECT_EQ(check_stability(run).problem, "rope_0, step 31: the loss is not finite");
  run = smooth_run();
  run.steps[30].grad_norm = std::numeric_limits<double>::quiet_NaN();
  EXPECT_FALSE(check_stability(run).is_stable);
}

TEST(Stability, WarmUpMayHaveSpikes) {
  StudyRun run = smooth_run();
  run.warmup_steps = 120;
  run.steps[100].loss = 30;
  EXPECT_TRUE(check_stability(run).is_stable);
  run.steps[100].loss = std::numeric_limits<double>::quiet_NaN();
  EXPECT_FALSE(check_stability(run).is_stable) << "a run that diverges at once is not stable";
}

TEST(Stability, ASlowRiseIsFoundAtTheEnd) {
  StudyRun run = smooth_run();
  for (std::size_t i = 60; i < run.steps.size(); ++i) run.steps[i].loss += 0.008 * static_cast<double>(i - 60);
  const Stability result = check_stability(run);
  EXPECT_FALSE(result.is_stable);
  EXPECT_TRUE(result.problem.starts_with("rope_0, end: median loss")) << result.problem;
}

TEST(Stability, ShortRunsAreNotChecked) {
  StudyRun run = smooth_run();
  run.steps.resize(50);
  EXPECT_EQ(check_stability(run).steps_checked, 0u);
  run.steps.clear();
  EXPECT_TRUE(check_stability(run).is_stable);
}

TEST(Stability, RunsWithoutGradientNormsAreCheckedByTheirLosses) {
  StudyRun run = smooth_run();
  for (StepRecord& step : run.steps) step.grad_norm.reset();
  EXPECT_TRUE(check_stability(run).is_stable);
}

}  // namespace
}  // namespace crope::study
