#include "crope/train/memory_need.h"

#include <c10/core/Device.h>
#include <fmt/format.h>

#include "crope/base/memory.h"
#include "crope/base/progress.h"
#include "crope/model/parameters.h"

namespace crope::train {

double training_bytes(const model::ModelConfig& model, int ranks) {
  const model::ParameterCounts counts = model::count_parameters(model);
  // Muon keeps one number per weight of a matrix, AdamW two of the rest; ranks share these.
  const auto matrices = static_cast<double>(counts.attention + counts.feed_forward);
  const auto rest = static_cast<double>(counts.embedding + counts.norm);
  return sizeof(float) * (2 * (matrices + rest) + (matrices + 2 * rest) / ranks);
}

void require_training_memory(const TrainJob& job) {
  if (!c10::Device(job.config.device).is_cpu()) return;
  const auto parameters = static_cast<double>(model::count_parameters(job.model).total());
  require_memory(training_bytes(job.model, job.ranks),
                 fmt::format("training a model of {} parameters", format_count(parameters)),
                 "weights, gradients and optimiser state");
}

}  // namespace crope::train
