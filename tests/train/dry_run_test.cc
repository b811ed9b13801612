#include "crope/train/dry_run.h"

#include <gtest/gtest.h>

#include "tests/train/tiny_run.h"

namespace crope::train {
namespace {

TEST(DryRun, SaysWhatARunTakesAndWritesNothing) {
  TinyRun tiny;
  const DryRun result = dry_run(resolve_job(tiny.request("run")), tiny.log);
  EXPECT_EQ(result.parameters, tiny.run("other", {{"steps", 1}}).parameters);
  EXPECT_GT(result.seconds_per_step, result.optimizer_seconds);
  EXPECT_GT(result.optimizer_seconds, 0);
  EXPECT_NEAR(result.tokens_per_second, 32 / result.seconds_per_step, 1e-6);
  EXPECT_GT(result.total_seconds, 12 * result.seconds_per_step);
  EXPECT_GT(result.memory, result.checkpoint_bytes);
  EXPECT_FALSE(std::filesystem::exists(tiny.path("run")));
}

}  // namespace
}  // namespace crope::train
