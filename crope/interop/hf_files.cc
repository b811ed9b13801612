#include "crope/interop/hf_files.h"

#include <ATen/ATen.h>
#include <fmt/format.h>
#include <fmt/ranges.h>

#include "crope/base/error.h"
#include "crope/base/file.h"
#include "crope/interop/hf_index.h"
#include "crope/model/tensor_file.h"

namespace crope::interop {
namespace fs = std::filesystem;
namespace {

using formats::SafetensorsFile;
using torch::Tensor;

}  // namespace

HfFiles::HfFiles(const fs::path& dir) : dir_(dir) {
  const fs::path single = dir / "model.safetensors", index = dir / "model.safetensors.index.json";
  if (fs::exists(single)) {
    files_.push_back(SafetensorsFile::open(single));
    for (const auto& tensor : files_.back().tensors()) places_[tensor.name] = 0;
    return;
  }
  if (!fs::exists(index)) {
    throw Error(fmt::format("{}: neither model.safetensors nor model.safetensors.index.json is there", dir.string()),
                "older checkpoints (pytorch_model.bin) can be saved again by transformers with safe_serialization");
  }
  std::map<std::string, std::size_t> opened;
  for (const auto& [name, file] : parse_hf_index(read_file(index), index.string())) {
    if (!opened.contains(file)) {
      if (!fs::exists(dir / file)) {
        throw Error(fmt::format("{}: the shard {} is missing", dir.string(), file), "fetch the whole directory again");
      }
      opened[file] = files_.size();
      files_.push_back(SafetensorsFile::open(dir / file));
    }
    if (files_[opened[file]].find(name) == nullptr) {
      throw Error(fmt::format("{}: the index puts '{}' into {}, which does not have it", index.string(), name, file));
    }
    places_[name] = opened[file];
  }
}

std::set<std::string> HfFiles::names() const {
  std::set<std::string> names;
  for (const auto& [name, place] : places_) names.insert(name);
  return names;
}

Tensor HfFiles::read(const std::string& name, const std::vector<std::int64_t>& shape) const {
  const auto place = places_.find(name);
  if (place == places_.end()) {
    throw Error(fmt::format("{}: the tensor '{}' is missing", dir_.string(), name),
                "config.json and the weights do not belong together, or the directory is incomplete");
  }
  const SafetensorsFile& file = files_[place->second];
  const formats::StoredTensor& stored = file.at(name);
  if (stored.shape != shape) {
    throw Error(fmt::format("{}: tensor '{}': expected the shape [{}], found [{}]", file.path().string(), name,
                            fmt::join(shape, ", "), fmt::join(stored.shape, ", ")));
  }
  if (!at::isFloatingType(model::scalar_type(stored.type))) {
    throw Error(fmt::format("{}: tensor '{}': expected floating-point numbers, found {}", file.path().string(), name,
                            formats::element_name(stored.type)));
  }
  return model::view_tensor(file, stored).to(torch::kFloat32);
}

void HfFiles::release(const std::string& name) const {
  const SafetensorsFile& file = files_[places_.at(name)];
  file.mapping()->release(file.at(name).bytes);
}

}  // namespace crope::interop
