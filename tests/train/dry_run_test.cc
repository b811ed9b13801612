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

// 37 rows of 8 tokens in the validation part of 300 tokens, 499 in another text of 4,000.
TEST(DryRun, CountsEveryValidationOfTheRun) {
  TinyRun tiny;
  std::filesystem::create_directory(tiny.path("other"));
  write_shard(tiny.path("other") / "train_000000.bin", 4000, 3);
  const auto rows = [&](const Settings& settings, bool has_other = false) {
    JobRequest request = tiny.request("run", settings);
    if (has_other) request.validate_also = {{"other", tiny.path("other")}};
    const DryRun result = dry_run(resolve_job(request), tiny.log);
    EXPECT_NEAR(result.total_seconds, 12 * result.seconds_per_step + result.validation_seconds, 1e-9);
    EXPECT_EQ(result.validation_seconds > 0, result.validated_rows > 0);
    return result.validated_rows;
  };
  EXPECT_EQ(rows({{"validation_rows", 5}}), 3u * 5u) << "after steps 4, 8 and 12";
  EXPECT_EQ(rows({{"validation_rows", 0}}), 3u * 37u) << "0 is the whole part";
  EXPECT_EQ(rows({{"validation_rows", 500}}), 3u * 37u) << "no more than there are";
  EXPECT_EQ(rows({{"validation_rows", 5}, {"validate_every", 5}}), 3u * 5u) << "after steps 5, 10 and the last";
  EXPECT_EQ(rows({{"validation_rows", 5}, {"validate_final_steps", 4}, {"validate_final_every", 1}}), 6u * 5u)
      << "after steps 4 and 8, and after each of 9 to 12";
  EXPECT_EQ(rows({{"validate_every", 0}}), 0u);
  EXPECT_EQ(rows({{"validation_rows", 5}}, true), 3u * 5u + 5u) << "another text comes once";
  EXPECT_EQ(rows({{"validation_rows", 0}}, true), 3u * 37u + 499u);
  std::filesystem::remove(tiny.data() / "val_000000.bin");
  EXPECT_EQ(rows({{"validation_rows", 0}}), 0u) << "there is no validation part";
}

}  // namespace
}  // namespace crope::train
