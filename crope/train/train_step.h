// One update of a model: gradients of a batch in pieces that fit memory, then the optimiser.
#pragma once

#include <torch/types.h>

#include <functional>

#include "crope/data/token_loader.h"
#include "crope/dist/data_parallel.h"
#include "crope/model/transformer.h"
#include "crope/train/train_config.h"

namespace crope::train {

struct StepOptions {
  std::int64_t micro_batch_size;  // rows
  torch::ScalarType precision = torch::kFloat32;
  model::Activations activations = model::Activations::kept;
  const model::Transformer* teacher = nullptr;  // none: the loss is the text's alone
  ops::DistillationOptions distillation = {};
};

// The options of a run. REQUIRES: nothing in the configuration is automatic any more.
StepOptions step_options(const TrainConfig& config);

// Leaves in every parameter's .grad() the gradient of the mean loss, mixed with the teacher's if there is one, over the
// rows of the batch, and returns that loss. Checks `stop` between the pieces; once it is true, the gradients are not to
// be used and nothing is returned.
std::optional<double> compute_gradients(model::Transformer& model, data::TokenBatch& batch, const StepOptions& options,
                                        const std::function<bool()>& stop);

// compute_gradients() of a batch whose rows the ranks of a group share: gradient and loss are those of the whole batch.
// `stop` answers alike on every rank.
std::optional<double> compute_gradients(model::Transformer& model, data::TokenBatch& batch, const StepOptions& options,
                                        const std::function<bool()>& stop, dist::ProcessGroup& group,
                                        dist::GradientReducer& reducer);

// While it lives, ATen's autocast computes in bf16; does nothing for fp32.
class PrecisionScope {
 public:
  PrecisionScope(torch::ScalarType precision, torch::Device device);
  ~PrecisionScope();

  PrecisionScope(const PrecisionScope&) = delete;
  PrecisionScope& operator=(const PrecisionScope&) = delete;

 private:
  bool is_on_;
  torch::DeviceType device_;
};

}  // namespace crope::train
