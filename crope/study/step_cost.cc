#include "crope/study/step_cost.h"

#include <ATen/ATen.h>
#include <fmt/format.h>

#include <algorithm>

#include "crope/base/error.h"
#include "crope/base/interrupt.h"
#include "crope/base/statistics.h"
#include "crope/base/stopwatch.h"
#include "crope/model/cost.h"
#include "crope/model/init.h"
#include "crope/ops/tensor_memory.h"
#include "crope/train/optimizer.h"
#include "crope/train/train_step.h"

namespace crope::study {
namespace {

std::uint64_t lasting_bytes_of(const model::Transformer& model, const train::Optimizer& optimizer) {
  std::uint64_t bytes = 0;
  for (const model::Parameter& parameter : model.parameters) bytes += 2 * parameter.value.nbytes();
  for (const train::NamedState& state : optimizer.state()) bytes += state.value.nbytes();
  return bytes;
}

}  // namespace

void check_step(const StepShape& shape, int repetitions) {
  model::validate(shape.config);
  if (repetitions < 1) throw UsageError(fmt::format("{} repetitions: expected at least 1", repetitions));
  if (shape.rows < 1) throw UsageError(fmt::format("{} rows: expected at least 1", shape.rows));
  if (shape.seq_len < 1 || shape.seq_len > shape.config.max_seq_len) {
    throw UsageError(
        fmt::format("rows of {} tokens: expected 1 to {} (max_seq_len)", shape.seq_len, shape.config.max_seq_len));
  }
}

StepCost measure_step(const StepShape& shape, int repetitions) {
  check_step(shape, repetitions);
  const std::size_t before = ops::tensor_memory_stats().in_use;
  ops::restart_tensor_memory_peak();
  model::Transformer model = model::make_random_transformer(shape.config);
  model::set_requires_grad(model, true);
  train::Optimizer optimizer(model);
  const at::Tensor tokens = at::randint(shape.config.vocab_size, {shape.rows, shape.seq_len + 1}, at::kLong);
  constexpr double kRate = 1e-3;
  StepCost cost;
  ops::Profile profile;
  std::vector<double> forward, backward, update;
  for (int round = 0; round <= repetitions; ++round) {
    throw_if_interrupted();
    ops::Profile first;
    const ops::ProfileScope scope(round == 0 ? first : profile);
    at::Tensor loss;
    const double forward_s = seconds_of([&] {
      const train::PrecisionScope precision(shape.precision, torch::kCPU);
      loss = model::loss(model, tokens);
    });
    const double backward_s = seconds_of([&] { loss.backward(); });
    const double update_s = seconds_of([&] { optimizer.step(kRate); });
    for (model::Parameter& parameter : model.parameters) parameter.value.mutable_grad() = at::Tensor();
    if (round == 0) continue;
    forward.push_back(forward_s);
    backward.push_back(backward_s);
    update.push_back(update_s);
    cost.mean_s += (forward_s + backward_s + update_s) / repetitions;
  }
  cost.forward_s = median(forward);
  cost.backward_s = median(backward);
  cost.optimizer_s = median(update);
  cost.flops = model::cost_per_token(shape.config, shape.seq_len).training_flops * static_cast<double>(shape.tokens());
  cost.lasting_bytes = lasting_bytes_of(model, optimizer);
  const std::size_t peak = ops::tensor_memory_stats().peak_in_use;
  cost.peak_bytes = peak > before ? peak - before : 0;
  for (ops::ProfileRow row : profile.rows()) {
    row.calls /= repetitions;
    row.seconds /= repetitions;
    row.flops /= repetitions;
    cost.parts.push_back(std::move(row));
  }
  return cost;
}

}  // namespace crope::study
