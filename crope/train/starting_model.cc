#include "crope/train/starting_model.h"

#include <ATen/ATen.h>

#include "crope/model/init.h"
#include "crope/model/model_dir.h"

namespace crope::train {

model::Transformer owned_copy(const model::Transformer& model) {
  std::vector<torch::Tensor> values;
  for (const model::Parameter& parameter : model.parameters) values.push_back(parameter.value.clone());
  return model::make_transformer(model.config, values);
}

model::Transformer make_starting_model(const TrainJob& job, Log& log) {
  const torch::TensorOptions options = torch::TensorOptions(torch::Device(job.config.device)).dtype(torch::kFloat32);
  if (job.init_from.empty()) return model::make_random_transformer(job.model, init_options(job.config), options);
  return owned_copy(model::load_model(job.init_from, log, options));
}

}  // namespace crope::train
