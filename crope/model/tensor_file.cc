#include "crope/model/tensor_file.h"

#include <ATen/ATen.h>
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <utility>

#include "crope/base/error.h"

namespace crope::model {
namespace {

using formats::ElementType;
using torch::Tensor;

constexpr std::array<std::pair<ElementType, torch::ScalarType>, 10> kTypes = {{
    {ElementType::f64, torch::kFloat64},
    {ElementType::f32, torch::kFloat32},
    {ElementType::f16, torch::kFloat16},
    {ElementType::bf16, torch::kBFloat16},
    {ElementType::i64, torch::kInt64},
    {ElementType::i32, torch::kInt32},
    {ElementType::i16, torch::kInt16},
    {ElementType::i8, torch::kInt8},
    {ElementType::u8, torch::kUInt8},
    {ElementType::boolean, torch::kBool},
}};

}  // namespace

torch::ScalarType scalar_type(ElementType type) {
  return std::ranges::find(kTypes, type, &std::pair<ElementType, torch::ScalarType>::first)->second;
}

ElementType element_type(torch::ScalarType type) {
  const auto row = std::ranges::find(kTypes, type, &std::pair<ElementType, torch::ScalarType>::second);
  if (row == kTypes.end()) {
    throw Error(fmt::format("[safetensors] tensors of type {} cannot be stored", c10::toString(type)));
  }
  return row->first;
}

Tensor view_tensor(const formats::SafetensorsFile& file, const formats::StoredTensor& stored) {
  const auto options = torch::TensorOptions().dtype(scalar_type(stored.type));
  if (stored.bytes.empty()) return at::empty(stored.shape, options);
  const auto address = reinterpret_cast<std::uintptr_t>(stored.bytes.data());
  if (address % formats::element_size(stored.type) != 0) {
    Tensor copy = at::empty(stored.shape, options);
    std::memcpy(copy.data_ptr(), stored.bytes.data(), stored.bytes.size());
    return copy;
  }
  return at::from_blob(
      stored.bytes.data(), stored.shape, [mapping = file.mapping()](void*) {}, options);
}

Tensor view_tensor(const formats::SafetensorsFile& file, std::string_view name) {
  return view_tensor(file, file.at(name));
}

formats::TensorSource tensor_source(std::string name, Tensor value) {
  const ElementType type = element_type(value.scalar_type());
  std::vector<std::int64_t> shape = value.sizes().vec();
  return {std::move(name), type, std::move(shape), [value](const formats::TensorSource::Sink& sink) {
            const Tensor plain = value.detach().to(torch::kCPU).contiguous();
            sink({static_cast<const std::byte*>(plain.const_data_ptr()), plain.nbytes()});
          }};
}

}  // namespace crope::model
