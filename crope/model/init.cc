#include "crope/model/init.h"

#include <ATen/ATen.h>
#include <ATen/Parallel.h>

#include <algorithm>
#include <cmath>

#include "crope/base/interrupt.h"
#include "crope/base/random.h"

namespace crope::model {
namespace {

using torch::Tensor;

constexpr int64_t kStretch = int64_t{1} << 22;  // numbers between two looks at whether to stop

Tensor draw_normal(const ParameterSpec& spec, double std, std::uint64_t seed) {
  const RandomStream stream(seed, spec.name);
  Tensor values = at::empty(spec.shape, torch::kFloat32);
  float* data = values.data_ptr<float>();
  for (int64_t first = 0; first < values.numel(); first += kStretch) {
    throw_if_interrupted();
    at::parallel_for(first, std::min(first + kStretch, values.numel()), /*grain_size=*/4096,
                     [&](int64_t i, int64_t end) {
                       for (; i < end; ++i)
                         data[i] = static_cast<float>(std * stream.normal_at(static_cast<std::uint64_t>(i)));
                     });
  }
  return values;
}

Tensor initial_value(const ParameterSpec& spec, const InitOptions& options) {
  switch (spec.role) {
    case Role::gain:
      return at::ones(spec.shape, torch::kFloat32);
    case Role::embedding:
      return draw_normal(spec, options.embedding_std, options.seed);
    default:
      break;
  }
  const double std = options.projection_gain / std::sqrt(static_cast<double>(spec.fan_in()));
  return draw_normal(spec, std, options.seed);
}

}  // namespace

Transformer make_random_transformer(const ModelConfig& config, const InitOptions& options,
                                    const torch::TensorOptions& tensor_options) {
  validate(config);
  std::vector<Tensor> values;
  for (const ParameterSpec& spec : parameter_specs(config)) {
    values.push_back(initial_value(spec, options).to(tensor_options));
  }
  return make_transformer(config, values);
}

}  // namespace crope::model
