// The memory that a step takes, measured, beside the estimate that micro-batches are chosen by.
#include "tests/device/device_memory.h"

#include <gtest/gtest.h>

#include "crope/model/init.h"
#include "crope/train/micro_batch.h"
#include "crope/train/train_step.h"
#include "tests/device/device_models.h"

namespace crope::train {
namespace {

struct MemoryCase {
  model::Variant variant;
  Precision precision;
  bool recompute;
};

class StepMemory : public testing::TestWithParam<MemoryCase> {};

struct Bytes {
  double measured, estimate;
};

// With the gradients themselves, whose memory comes up while activations go.
Bytes step_bytes(const model::ModelConfig& shape, const TrainConfig& config, std::int64_t rows) {
  model::Transformer model = test::on_test_device(model::make_random_transformer(shape));
  data::TokenBatch batch{.rows = rows,
                         .tokens = std::vector<std::int64_t>(static_cast<std::size_t>(rows * (config.seq_len + 1)), 5)};
  StepOptions options = step_options(config);
  options.micro_batch_size = rows;
  std::int64_t parameters = 0;
  for (const model::Parameter& parameter : model.parameters) {
    parameters += static_cast<std::int64_t>(parameter.value.nbytes());
  }
  const std::int64_t before = test::bytes_in_use();
  test::restart_peak();
  compute_gradients(model, batch, options, [] { return false; });
  return {static_cast<double>(test::peak_bytes() - before),
          static_cast<double>(parameters) + gradient_bytes(shape, config, rows)};
}

TEST_P(StepMemory, IsWhatTheEstimateSays) {
  const model::ModelConfig shape{.vocab_size = 320,
                                 .num_layers = 6,
                                 .num_heads = 2,
                                 .d_model = 64,
                                 .d_ff = 64,
                                 .max_seq_len = 32,
                                 .variant = GetParam().variant};
  TrainConfig config;
  config.seq_len = 32;
  config.precision = GetParam().precision;
  config.recompute = GetParam().recompute;
  for (const std::int64_t rows : {4, 32}) {
    const auto [measured, estimate] = step_bytes(shape, config, rows);
    EXPECT_LE(measured, estimate) << rows << " rows";
    EXPECT_GE(measured, 0.5 * estimate) << rows << " rows";
  }
}

INSTANTIATE_TEST_SUITE_P(Cases, StepMemory,
                         testing::Values(MemoryCase{model::Variant::rope, Precision::bf16, false},
                                         MemoryCase{model::Variant::crope_all, Precision::bf16, false},
                                         MemoryCase{model::Variant::half_rope_qk, Precision::bf16, false},
                                         MemoryCase{model::Variant::half_rope_all, Precision::fp32, false},
                                         MemoryCase{model::Variant::rope, Precision::fp32, false},
                                         MemoryCase{model::Variant::crope_all, Precision::fp32, false},
                                         MemoryCase{model::Variant::rope, Precision::bf16, true},
                                         MemoryCase{model::Variant::crope_all, Precision::fp32, true}),
                         [](const auto& info) {
                           return std::string(model::traits(info.param.variant).name) +
                                  (info.param.precision == Precision::bf16 ? "_bf16" : "_fp32") +
                                  (info.param.recompute ? "_recomputed" : "");
                         });

TEST(DeviceMemory, FreeMemoryIsAsked) {
  const auto free = free_device_memory(test::test_device());
  ASSERT_TRUE(free);
  EXPECT_LE(*free, test::kDeviceBytes);
  TrainJob job;
  job.config.device = test::test_device().str();
  job.config.precision = Precision::bf16;
  EXPECT_EQ(choose_micro_batch(job), fitting_rows(job.model, job.config, 64, static_cast<double>(*free)));
  job.model = {.vocab_size = 64, .num_layers = 1, .num_heads = 2, .d_model = 32, .d_ff = 32};
  EXPECT_EQ(choose_micro_batch(job), 64) << "a small model takes the whole batch at once";
}

}  // namespace
}  // namespace crope::train
