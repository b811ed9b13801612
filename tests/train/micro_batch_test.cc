#include "crope/train/micro_batch.h"

#include <gtest/gtest.h>

#include "crope/train/memory_need.h"

namespace crope::train {
namespace {

constexpr double kGigabyte = 1e9;

TrainConfig gpu_config() {
  TrainConfig config;
  config.precision = Precision::bf16;
  return config;
}

TEST(MicroBatch, TakesWhatFits) {
  const model::ModelConfig paper;
  const TrainConfig config = gpu_config();
  std::int64_t before = 0;
  for (const double free : {1.0, 8.0, 16.0, 24.0, 40.0, 80.0}) {
    const std::int64_t rows = fitting_rows(paper, config, 64, free * kGigabyte);
    EXPECT_GE(rows, before) << free;
    if (rows > 1) {
      EXPECT_LE(training_bytes(paper) + gradient_bytes(paper, config, rows), free * kGigabyte) << free;
    }
    before = rows;
  }
  EXPECT_EQ(fitting_rows(paper, config, 64, 1 * kGigabyte), 1) << "at least one row is tried";
  EXPECT_EQ(fitting_rows(paper, config, 64, 80 * kGigabyte), 64);
}

TEST(MicroBatch, PiecesAreOfNearlyOneSize) {
  const model::ModelConfig paper;
  const TrainConfig config = gpu_config();
  const auto bytes = [&](std::int64_t rows) {
    return (training_bytes(paper) + gradient_bytes(paper, config, rows)) * 6 / 5 + 1;
  };
  EXPECT_EQ(fitting_rows(paper, config, 64, bytes(63)), 32) << "63 and 1 would be two pieces as well";
  EXPECT_EQ(fitting_rows(paper, config, 64, bytes(32)), 32);
  EXPECT_EQ(fitting_rows(paper, config, 64, bytes(31)), 22);
}

TEST(MicroBatch, RecomputingAndBf16TakeLess) {
  const model::ModelConfig paper;
  TrainConfig config = gpu_config();
  const double kept = gradient_bytes(paper, config, 16);
  config.recompute = true;
  EXPECT_LT(gradient_bytes(paper, config, 16), kept / 2);
  config.recompute = false;
  config.precision = Precision::fp32;
  EXPECT_GT(gradient_bytes(paper, config, 16), 1.3 * kept);
}

TEST(MicroBatch, OnTheCpuIs2048Tokens) {
  EXPECT_FALSE(free_device_memory(torch::kCPU));
  TrainJob job;
  job.config.device = "cpu";
  EXPECT_EQ(choose_micro_batch(job), 4);
  job.config.seq_len = 4096;
  EXPECT_EQ(choose_micro_batch(job), 1);
}

}  // namespace
}  // namespace crope::train
