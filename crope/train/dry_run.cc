#include "crope/train/dry_run.h"

#include <ATen/Parallel.h>

#include <algorithm>
#include <functional>
#include <memory>

#include "crope/base/error.h"
#include "crope/base/interrupt.h"
#include "crope/base/memory.h"
#include "crope/base/rounding.h"
#include "crope/base/statistics.h"
#include "crope/base/stopwatch.h"
#include "crope/data/token_loader.h"
#include "crope/model/cost.h"
#include "crope/optim/grad_clip.h"
#include "crope/train/gemm_peak.h"
#include "crope/train/memory_need.h"
#include "crope/train/optimizer.h"
#include "crope/train/starting_model.h"
#include "crope/train/teacher.h"
#include "crope/train/train_step.h"
#include "crope/train/validation.h"

namespace crope::train {
namespace {

constexpr int kRepetitions = 5;
constexpr double kEnough = 4;  // seconds of measuring

// The middle of a few repetitions; of fewer, when each takes long.
double median_seconds(const std::function<void()>& work) {
  std::vector<double> times;
  double sum = 0;
  while (times.empty() || (times.size() < kRepetitions && sum < kEnough)) {
    times.push_back(seconds_of(work));
    sum += times.back();
    throw_if_interrupted();
  }
  return median(times);
}

// Rows that the run validates on, summed over all its validations. Other texts come once, after the last step.
std::uint64_t count_validated_rows(const TrainJob& job, const data::DataDir& data) {
  const TrainConfig& config = job.config;
  if (config.validate_every == 0) return 0;
  const auto rows_of = [&](const data::DataDir& text) {
    const data::TokenRows rows(text.val, config.seq_len, job.model.vocab_size);
    return limited_rows(rows.size(), config.validation_rows);
  };
  std::uint64_t count = 0;
  try {
    count = rows_of(data) * static_cast<std::uint64_t>(count_validations(config));
  } catch (const Error&) {
    // The trainer warns and does not validate where the part is missing or shorter than a row.
  }
  for (const OtherText& text : job.validate_also) count += rows_of(held_out_text(data::open_data_dir(text.data)));
  return count;
}

}  // namespace

DryRun dry_run(const TrainJob& job, Log& log) {
  const TrainConfig& config = job.config;
  at::set_num_threads(static_cast<int>(config.threads));
  const data::DataDir data = data::open_data_dir(job.data);
  const auto rows = std::make_shared<data::TokenRows>(data.train, config.seq_len, job.model.vocab_size);
  // The order of a run needs a whole batch; so does this.
  data::TokenLoader loader(rows, {.batch_rows = config.batch_size, .order = config.data_order});
  data::TokenBatch batch = loader.next();
  const std::int64_t pieces = divide_up(config.batch_size, config.micro_batch_size);
  // A piece for every part of a step that costs differently: the first makes the gradients, the next add to them.
  batch.rows = std::min(config.batch_size, 2 * config.micro_batch_size);
  batch.tokens.resize(static_cast<std::size_t>(batch.rows * (config.seq_len + 1)));
  const double measured_pieces = static_cast<double>(batch.rows) / static_cast<double>(config.micro_batch_size);

  require_training_memory(job);
  model::Transformer model = make_starting_model(job, log);
  model::set_requires_grad(model, true);
  Optimizer optimizer(model, optimizer_options(config));
  std::vector<torch::Tensor> parameters;
  for (const model::Parameter& parameter : model.parameters) parameters.push_back(parameter.value);
  StepOptions options = step_options(config);
  const std::optional<model::Transformer> teacher = load_teacher(job.teacher, config.device, log);
  if (teacher) options.teacher = &*teacher;
  const auto gradients = [&] { compute_gradients(model, batch, options, [] { return false; }); };
  const auto update = [&] {
    optim::gradient_norm(parameters);
    optimizer.step(config.lr);
  };
  gradients();  // the first time, memory is fetched from the system
  update();
  const double piece_seconds = median_seconds(gradients) / measured_pieces;
  const double optimizer_seconds = median_seconds(update);

  DryRun result{};
  result.parameters = model::count_parameters(model.config).total();
  result.memory = peak_memory();
  const double batch_pieces = static_cast<double>(config.batch_size) / static_cast<double>(config.micro_batch_size);
  result.optimizer_seconds = optimizer_seconds;
  result.seconds_per_step = piece_seconds * std::max(batch_pieces, static_cast<double>(pieces) - 1) + optimizer_seconds;
  result.tokens_per_second = static_cast<double>(config.batch_size * config.seq_len) / result.seconds_per_step;
  // A validation is forward only: about a third of a training piece.
  result.validated_rows = count_validated_rows(job, data);
  const double validation_pieces =
      static_cast<double>(result.validated_rows) / static_cast<double>(config.micro_batch_size);
  result.validation_seconds = validation_pieces * piece_seconds / 3;
  result.total_seconds = static_cast<double>(config.steps) * result.seconds_per_step + result.validation_seconds;
  const double flops = model::cost_per_token(model.config, config.seq_len).training_flops *
                       static_cast<double>(config.micro_batch_size * config.seq_len);
  result.gemm_share = flops / piece_seconds / measure_gemm_peak(model.embedding.device(), options.precision);
  for (const torch::Tensor& parameter : parameters) result.checkpoint_bytes += parameter.nbytes();
  for (const NamedState& state : optimizer.state()) result.checkpoint_bytes += state.value.nbytes();
  return result;
}

}  // namespace crope::train
