// What a step asks of a device that takes its orders one by one: operations started, numbers read back, casts of
// weights. Counted where they reach the test device.
#include <gtest/gtest.h>

#include <map>
#include <string>
#include <vector>

#include "crope/model/init.h"
#include "crope/optim/grad_clip.h"
#include "crope/train/optimizer.h"
#include "crope/train/train_step.h"
#include "tests/device/device_models.h"
#include "tests/device/test_device.h"

namespace crope::train {
namespace {

constexpr std::int64_t kDenseBudget = 1300, kTiedBudget = 1500;  // forward and backward of a micro-batch
constexpr std::int64_t kOptimizerBudget = 600;

struct StepTraffic {
  test::Traffic gradients, optimizer;
  std::vector<torch::Tensor> values;
};

// The paper's 16 layers; widths do not change the counts, nor does a vocabulary whose logits fit one piece.
StepTraffic count_step(model::Variant variant, std::int64_t micro_batches) {
  model::Transformer model = test::on_test_device(model::make_random_transformer({.vocab_size = 64,
                                                                                  .num_layers = 16,
                                                                                  .num_heads = 2,
                                                                                  .d_model = 32,
                                                                                  .d_ff = 32,
                                                                                  .max_seq_len = 16,
                                                                                  .variant = variant}));
  OptimizerOptions options;
  options.muon.iteration_type = torch::kBFloat16;
  Optimizer optimizer(model, options);
  StepTraffic result;
  for (const model::Parameter& parameter : model.parameters) result.values.push_back(parameter.value);
  data::TokenBatch batch{.rows = 2 * micro_batches, .tokens = std::vector<std::int64_t>(34 * micro_batches, 5)};
  const StepOptions step{.micro_batch_size = 2, .precision = torch::kBFloat16};
  test::reset_traffic();
  compute_gradients(model, batch, step, [] { return false; });
  result.gradients = test::traffic();
  test::reset_traffic();
  optim::clip_gradient_norm(result.values, 1e9);
  optimizer.step(1e-3);
  result.optimizer = test::traffic();
  return result;
}

class LaunchBudget : public testing::TestWithParam<model::Variant> {};

TEST_P(LaunchBudget, OfOneMicroBatchAndTheOptimizer) {
  const StepTraffic one = count_step(GetParam(), 1), three = count_step(GetParam(), 3);
  const std::int64_t budget = GetParam() == model::Variant::rope ? kDenseBudget : kTiedBudget;
  const std::int64_t further = (three.gradients.launches - one.gradients.launches) / 2;
  RecordProperty("first_micro_batch", static_cast<int>(one.gradients.launches));
  RecordProperty("further_micro_batch", static_cast<int>(further));
  RecordProperty("optimizer", static_cast<int>(one.optimizer.launches));
  EXPECT_GT(further, 16 * 10) << "were the layers counted at all?";
  EXPECT_LE(one.gradients.launches, budget) << test::describe(one.gradients);
  EXPECT_LE(further, budget);
  EXPECT_LE(one.optimizer.launches, kOptimizerBudget) << test::describe(one.optimizer);
  // The loss and the norm of the gradient; no more for more micro-batches.
  EXPECT_EQ(one.gradients.readings, 1);
  EXPECT_EQ(three.gradients.readings, 1);
  EXPECT_EQ(one.optimizer.readings, 1);
}

// Bytes that element-wise work moves for a token, in the type of bf16 autocast: what bounds a GPU's speed beside the
// products. Of one layer as wide as the paper's, from the difference of two models and of two batches.
double passed_bytes_per_token(model::Variant variant) {
  const auto bytes = [&](std::int64_t layers, std::int64_t rows) {
    model::Transformer model = test::on_test_device(model::make_random_transformer({.vocab_size = 64,
                                                                                    .num_layers = layers,
                                                                                    .num_heads = 1,
                                                                                    .d_model = 128,
                                                                                    .d_ff = 128,
                                                                                    .max_seq_len = 16,
                                                                                    .variant = variant}));
    data::TokenBatch batch{.rows = rows, .tokens = std::vector<std::int64_t>(static_cast<std::size_t>(17 * rows), 5)};
    test::reset_traffic();
    compute_gradients(model, batch, {.micro_batch_size = rows, .precision = torch::kBFloat16}, [] { return false; });
    return test::traffic().passed_bytes;
  };
  const std::int64_t many = bytes(2, 8) - bytes(1, 8), few = bytes(2, 4) - bytes(1, 4);
  return static_cast<double>(many - few) / (4 * 16) * (1024.0 / 128);
}

TEST_P(LaunchBudget, ALayerMovesFewBytes) {
  const double bytes = passed_bytes_per_token(GetParam());
  RecordProperty("layer_bytes_per_token", static_cast<int>(bytes));
  EXPECT_GT(bytes, 100e3) << "were they counted at all?";
  EXPECT_LE(bytes, 400e3);
}

TEST_P(LaunchBudget, WeightsAreCastOnceAStep) {
  const StepTraffic three = count_step(GetParam(), 3);
  std::int64_t matrices = 0;
  for (const torch::Tensor& value : three.values) {
    const auto found = three.gradients.casts_from.find(test::memory_of(value));
    const std::int64_t casts = found == three.gradients.casts_from.end() ? 0 : found->second;
    EXPECT_EQ(casts, value.dim() == 2 ? 1 : 0) << value.sizes();  // gains are used in fp32
    matrices += value.dim() == 2;
  }
  EXPECT_GT(matrices, 16 * 7);
}

INSTANTIATE_TEST_SUITE_P(Variants, LaunchBudget, testing::Values(model::Variant::rope, model::Variant::crope_all),
                         [](const auto& info) { return std::string(model::traits(info.param).name); });

}  // namespace
}  // namespace crope::train
