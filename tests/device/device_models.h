// Models on the test device.
#pragma once

#include <vector>

#include "crope/model/transformer.h"
#include "tests/device/test_device.h"

namespace crope::test {

// The same parameters on the test device, which ask for gradients.
inline model::Transformer on_test_device(const model::Transformer& model) {
  std::vector<torch::Tensor> values;
  for (const model::Parameter& parameter : model.parameters)
    values.push_back(parameter.value.detach().to(test_device()));
  model::Transformer result = model::make_transformer(model.config, values);
  model::set_requires_grad(result, true);
  return result;
}

}  // namespace crope::test
