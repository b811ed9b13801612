#include "crope/model/parameter_file.h"

#include <ATen/ATen.h>
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <set>

#include "crope/base/error.h"
#include "crope/base/memory.h"
#include "crope/model/pair_layout.h"
#include "crope/model/tensor_file.h"

namespace crope::model {
namespace {

using formats::ElementType;
using formats::StoredTensor;
using torch::Tensor;

// Every name of the list is in the file, and the other way round.
void check_names(const formats::SafetensorsFile& file, std::span<const ParameterSpec> specs) {
  std::set<std::string> unknown, missing;
  for (const StoredTensor& tensor : file.tensors()) unknown.insert(tensor.name);
  for (const ParameterSpec& spec : specs) {
    if (unknown.erase(spec.name) == 0) missing.insert(spec.name);
  }
  const auto fail = [&](const char* what, const std::set<std::string>& names) {
    throw Error(fmt::format("{}: {} tensor{} {} '{}'{}", file.path().string(), names.size(),
                            names.size() == 1 ? "" : "s", what, *names.begin(), names.size() == 1 ? "" : " and others"),
                "config.json and model.safetensors do not belong together: check variant and num_layers");
  };
  if (!missing.empty()) fail("missing:", missing);
  if (!unknown.empty()) fail("that this configuration does not have:", unknown);
}

bool is_blocks(const StoredTensor& stored) {
  return stored.type == ElementType::u8;
}

}  // namespace

ParameterFile::ParameterFile(const std::filesystem::path& model_dir, std::vector<ParameterSpec> specs)
    : file_(formats::SafetensorsFile::open(model_dir / kWeightsFile)), specs_(std::move(specs)) {
  check_names(file_, specs_);
  for (const ParameterSpec& spec : specs_) check(spec);
}

void ParameterFile::check(const ParameterSpec& spec) const {
  const StoredTensor& stored = file_.at(spec.name);
  const std::string origin = fmt::format("{}: tensor '{}'", path().string(), spec.name);
  std::vector<std::int64_t> expected = spec.shape;
  if (is_blocks(stored) && spec.role != Role::gain) {
    const std::int64_t bytes = stored.shape.size() == 3 ? stored.shape[2] : 0;
    const auto type = ops::type_of_blocks(bytes);
    if (!type) {
      throw Error(
          fmt::format("{}: expected blocks of 34, 18 or 20 bytes as [rows, blocks, bytes], found the shape [{}]",
                      origin, fmt::join(stored.shape, ", ")),
          "docs/formats.md describes quantised weights");
    }
    const auto blocks = ops::block_shape(*type, spec.shape[0], spec.shape[1]);
    expected.assign(blocks.begin(), blocks.end());
  } else if (!at::isFloatingType(scalar_type(stored.type))) {
    throw Error(
        fmt::format("{}: expected floating-point numbers, found {}", origin, formats::element_name(stored.type)));
  }
  if (stored.shape != expected) {
    throw Error(fmt::format("{}: expected the shape [{}], found [{}]", origin, fmt::join(expected, ", "),
                            fmt::join(stored.shape, ", ")),
                "config.json and model.safetensors do not belong together: check the sizes");
  }
}

void ParameterFile::require_memory_of_copies(const torch::TensorOptions& options) const {
  double bytes = 0;
  for (const ParameterSpec& spec : specs_) {
    const bool is_copied = !spec.paired_dimensions.empty() || scalar_type(file_.at(spec.name).type) != options.dtype();
    if (is_copied) bytes += static_cast<double>(spec.size()) * static_cast<double>(options.dtype().itemsize());
  }
  if (options.device().is_cpu()) require_memory(bytes, path().string(), "its weights");
}

ops::QuantisedMatrix ParameterFile::read_blocks(const ParameterSpec& spec) const {
  const StoredTensor& stored = file_.at(spec.name);
  try {
    auto matrix = ops::from_blocks(view_tensor(file_, stored), *ops::type_of_blocks(stored.shape[2]), spec.shape[1]);
    file_.mapping()->release(stored.bytes);
    return matrix;
  } catch (const Error& e) {
    throw Error(fmt::format("{}: tensor '{}': {}", path().string(), spec.name, e.what()), e.hint());
  }
}

Tensor ParameterFile::read(const ParameterSpec& spec, const torch::TensorOptions& options) const {
  const StoredTensor& stored = file_.at(spec.name);
  if (is_blocks(stored)) return ops::widened(read_blocks(spec)).to(options);
  const Tensor mapped = view_tensor(file_, stored);
  Tensor value = pairs_to_halves(mapped, spec.paired_dimensions, options);
  if (!value.is_alias_of(mapped)) file_.mapping()->release(stored.bytes);
  return value;
}

Tensor ParameterFile::read_pairs(const ParameterSpec& spec) const {
  const StoredTensor& stored = file_.at(spec.name);
  if (!is_blocks(stored)) return view_tensor(file_, stored).to(at::kFloat);
  return halves_to_pairs(ops::widened(read_blocks(spec)), spec.paired_dimensions);
}

StoredValue ParameterFile::read_stored(const ParameterSpec& spec) const {
  if (is_blocks(file_.at(spec.name))) return read_blocks(spec);
  return read(spec, at::kFloat);
}

}  // namespace crope::model
