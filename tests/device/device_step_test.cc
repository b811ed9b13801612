// Training steps and scores on the test device beside those of the CPU with its own kernels.
#include <algorithm>
#include <map>
#include <vector>

#include "crope/infer/scorer.h"
#include "crope/model/init.h"
#include "crope/optim/grad_clip.h"
#include "crope/train/optimizer.h"
#include "crope/train/train_step.h"
#include "tests/device/device_models.h"
#include "tests/tensor_checks.h"

namespace crope::train {
namespace {

constexpr std::int64_t kWidth = 17;  // ids of a row, both ends included

model::Transformer small_model(model::Variant variant, std::int64_t kv_heads = 0) {
  return model::make_random_transformer({.vocab_size = 96,
                                         .num_layers = 2,
                                         .num_heads = 4,
                                         .d_model = 32,
                                         .d_ff = 48,
                                         .max_seq_len = 16,
                                         .variant = variant,
                                         .num_kv_heads = kv_heads});
}

data::TokenBatch draw_batch(std::uint64_t seed) {
  RandomStream random(seed, "batch");
  data::TokenBatch batch{.rows = 5, .tokens = {}};
  for (std::int64_t i = 0; i < batch.rows * kWidth; ++i)
    batch.tokens.push_back(static_cast<std::int64_t>(random.below(96)));
  return batch;
}

struct Steps {
  std::vector<double> losses, norms;
};

// Three updates, in micro-batches of two rows.
Steps train_three_steps(model::Transformer& model, StepOptions options) {
  options.micro_batch_size = 2;
  model::set_requires_grad(model, true);
  Optimizer optimizer(model, {});
  const std::vector<torch::Tensor> values = model::parameter_values(model);
  Steps steps;
  for (std::uint64_t step = 0; step < 3; ++step) {
    data::TokenBatch batch = draw_batch(step % 2);
    steps.losses.push_back(*compute_gradients(model, batch, options, [] { return false; }));
    steps.norms.push_back(optim::clip_gradient_norm(values, 0.5));
    optimizer.step(2e-2);
  }
  return steps;
}

class OnTestDevice : public testing::TestWithParam<model::VariantTraits> {};

void expect_steps_of_the_cpu(model::Transformer on_cpu, const StepOptions& options) {
  model::Transformer on_device = test::on_test_device(on_cpu);
  const Steps expected = train_three_steps(on_cpu, options), steps = train_three_steps(on_device, options);
  for (std::size_t i = 0; i < 3; ++i) {
    EXPECT_NEAR(steps.losses[i], expected.losses[i], 1e-6 * expected.losses[i]) << "step " << i;
    EXPECT_NEAR(steps.norms[i], expected.norms[i], 1e-5 * expected.norms[i]) << "step " << i;
  }
  EXPECT_LT(expected.losses[2], expected.losses[0]) << "did it train at all?";
  for (std::size_t i = 0; i < on_cpu.parameters.size(); ++i) {
    test::expect_close(on_device.parameters[i].value.cpu(), on_cpu.parameters[i].value, 1e-5,
                       on_cpu.parameters[i].spec.name);
  }
}

TEST_P(OnTestDevice, ThreeStepsAreThoseOfTheCpu) {
  expect_steps_of_the_cpu(small_model(GetParam().variant), {});
}

TEST_P(OnTestDevice, RecomputedActivationsGiveTheSameSteps) {
  expect_steps_of_the_cpu(small_model(GetParam().variant), {.activations = model::Activations::recomputed});
}

// The bf16 step against fp32 on the CPU: near, and not equal.
TEST_P(OnTestDevice, StepsInBf16) {
  model::Transformer on_cpu = small_model(GetParam().variant), on_device = test::on_test_device(on_cpu);
  const Steps expected = train_three_steps(on_cpu, {});
  const Steps steps = train_three_steps(on_device, {.precision = torch::kBFloat16});
  for (std::size_t i = 0; i < 3; ++i) {
    EXPECT_NEAR(steps.losses[i], expected.losses[i], 0x1p-8 * expected.losses[i]) << "step " << i;
  }
  EXPECT_NE(steps.losses[0], expected.losses[0]) << "was it bf16 at all?";
  for (const model::Parameter& parameter : on_device.parameters) {
    EXPECT_EQ(parameter.value.scalar_type(), torch::kFloat32);
    EXPECT_EQ(parameter.value.grad().scalar_type(), torch::kFloat32);
  }
}

TEST_P(OnTestDevice, ScoresAreThoseOfTheCachedEngine) {
  const model::Transformer on_cpu = small_model(GetParam().variant), on_device = test::on_test_device(on_cpu);
  RandomStream random(7, "requests");
  std::vector<infer::ScoreRequest> requests;
  for (int i = 0; i < 12; ++i) {
    infer::ScoreRequest request;
    for (std::uint64_t n = 1 + random.below(20); n > 0; --n) {
      request.context.push_back(static_cast<std::int32_t>(random.below(96)));
    }
    for (std::uint64_t n = 1 + random.below(6); n > 0; --n) {
      request.continuation.push_back(static_cast<std::int32_t>(random.below(96)));
    }
    requests.push_back(request);
  }
  const auto score = [&](const model::Transformer& model) {
    std::map<std::size_t, infer::Score> scores;
    infer::score_requests(model, requests, {.batch_tokens = 64},
                          [&](std::size_t i, const infer::Score& one) { scores[i] = one; });
    return scores;
  };
  test::reset_traffic();
  const auto scores = score(on_device), expected = score(on_cpu);
  EXPECT_GT(test::traffic().launches, 0);
  ASSERT_EQ(scores.size(), requests.size());
  for (const auto& [i, one] : expected) {
    EXPECT_NEAR(scores.at(i).log_likelihood, one.log_likelihood, 1e-4) << "request " << i;
    EXPECT_EQ(scores.at(i).is_greedy, one.is_greedy) << "request " << i;
  }
}

INSTANTIATE_TEST_SUITE_P(Variants, OnTestDevice, testing::ValuesIn(model::kVariants),
                         [](const auto& info) { return std::string(info.param.name); });

TEST(OnTestDevice, HeadsThatShareKeysAndValues) {
  expect_steps_of_the_cpu(small_model(model::Variant::crope_all, /*kv_heads=*/2), {});
  expect_steps_of_the_cpu(small_model(model::Variant::rope, /*kv_heads=*/1), {});
}

TEST(OnTestDevice, AModelOnTwoDevicesFails) {
  model::Transformer model = test::on_test_device(small_model(model::Variant::crope_all));
  model.blocks[1].attention_norm = model.blocks[1].attention_norm.detach().cpu();
  data::TokenBatch batch = draw_batch(0);
  EXPECT_THROW(compute_gradients(model, batch, {.micro_batch_size = 5}, [] { return false; }), c10::Error);
}

}  // namespace
}  // namespace crope::train
