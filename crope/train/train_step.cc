#include "crope/train/train_step.h"

#include <ATen/ATen.h>
#include <ATen/autocast_mode.h>

#include <algorithm>
#include <optional>

#include "crope/ops/derived_weights.h"
#include "crope/ops/device.h"

namespace crope::train {

using torch::Tensor;

StepOptions step_options(const TrainConfig& config) {
  return {.micro_batch_size = config.micro_batch_size,
          .precision = scalar_type(config.precision),
          .activations = config.recompute ? model::Activations::recomputed : model::Activations::kept,
          .distillation = distillation_options(config)};
}

PrecisionScope::PrecisionScope(torch::ScalarType precision, torch::Device device)
    : is_on_(precision != torch::kFloat32), device_(device.type()) {
  if (!is_on_) return;
  at::autocast::set_autocast_dtype(device_, precision);
  at::autocast::set_autocast_enabled(device_, true);
}

PrecisionScope::~PrecisionScope() {
  if (!is_on_) return;
  at::autocast::set_autocast_enabled(device_, false);
  at::autocast::clear_cache();  // casts of weights that are about to change
}

namespace {

// This rank's share of the loss: a number, or where few launches are preferred one on the device, not read yet.
struct LossShare {
  double value = 0;
  Tensor on_device;  // [1] in fp64
};

// `reducer` may be null.
std::optional<LossShare> gradients_of_share(model::Transformer& model, data::TokenBatch& batch,
                                            const StepOptions& options, const std::function<bool()>& stop,
                                            std::int64_t rows_of_all, dist::GradientReducer* reducer) {
  for (model::Parameter& parameter : model.parameters) parameter.value.mutable_grad() = Tensor();
  const torch::Device device = model.embedding.device();
  const auto width = static_cast<std::int64_t>(batch.tokens.size()) / batch.rows;
  const Tensor rows = at::from_blob(batch.tokens.data(), {batch.rows, width}, at::kLong);
  // Off the CPU the losses of micro-batches are added there, so that one number is read back a step.
  const bool reads_once = ops::prefers_few_launches(model.embedding);
  LossShare sum;
  // There, too, weights are cast and pairs expanded once a step.
  const ops::DerivedWeightScope derived(model::parameter_values(model));
  for (std::int64_t first = 0; first < batch.rows; first += options.micro_batch_size) {
    if (stop()) return {};
    const std::int64_t count = std::min(options.micro_batch_size, batch.rows - first);
    const double share = static_cast<double>(count) / static_cast<double>(rows_of_all);
    Tensor loss;
    {
      const PrecisionScope scope(options.precision, device);
      const Tensor tokens = rows.narrow(0, first, count).to(device);
      loss = options.teacher == nullptr
                 ? model::loss(model, tokens, options.activations)
                 : model::distillation_loss(model, tokens, *options.teacher, options.distillation, options.activations);
    }
    const bool is_last = first + count == batch.rows;
    if (is_last && reducer != nullptr) reducer->begin();
    loss.backward(at::full_like(loss, share));
    if (reads_once) {
      const Tensor part = loss.detach().to(at::kDouble) * share;
      sum.on_device = sum.on_device.defined() ? sum.on_device + part : part.reshape({1});
    } else {
      sum.value += share * loss.item<double>();
    }
  }
  return sum;
}

}  // namespace

std::optional<double> compute_gradients(model::Transformer& model, data::TokenBatch& batch, const StepOptions& options,
                                        const std::function<bool()>& stop) {
  const auto loss = gradients_of_share(model, batch, options, stop, batch.rows, nullptr);
  if (!loss) return {};
  return loss->on_device.defined() ? loss->on_device.item<double>() : loss->value;
}

std::optional<double> compute_gradients(model::Transformer& model, data::TokenBatch& batch, const StepOptions& options,
                                        const std::function<bool()>& stop, dist::ProcessGroup& group,
                                        dist::GradientReducer& reducer) {
  const std::int64_t rows_of_all = batch.rows * group.size();
  const auto share = gradients_of_share(model, batch, options, stop, rows_of_all, &reducer);
  if (!share) return {};
  reducer.finish();
  if (!share->on_device.defined()) return group.sum(share->value);
  group.all_reduce(share->on_device).wait();
  return share->on_device.item<double>();
}

}  // namespace crope::train
