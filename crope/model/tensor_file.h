// Tensors to and from safetensors files.
#pragma once

#include <torch/types.h>

#include <string>

#include "crope/formats/safetensors.h"

namespace crope::model {

torch::ScalarType scalar_type(formats::ElementType type);

// Throws Error if the container has no such type.
formats::ElementType element_type(torch::ScalarType type);

// A tensor over the file's mapped bytes, which it keeps mapped: nothing is copied unless the bytes are not aligned for
// their type. Writing to the tensor does not reach the file.
torch::Tensor view_tensor(const formats::SafetensorsFile& file, const formats::StoredTensor& stored);

// Throws Error when there is no tensor of that name.
torch::Tensor view_tensor(const formats::SafetensorsFile& file, std::string_view name);

// `value` as it is, to be written under `name`. Holds on to the tensor until it is written.
formats::TensorSource tensor_source(std::string name, torch::Tensor value);

}  // namespace crope::model
