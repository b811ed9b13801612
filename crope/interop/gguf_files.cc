#include "crope/interop/gguf_files.h"

#include <fmt/format.h>

#include "crope/base/error.h"

namespace crope::interop {
namespace fs = std::filesystem;
namespace {

using formats::GgufFile;
using formats::GgufTensor;

constexpr std::int64_t kMostParts = 10'000;

// "name" of "name-00001-of-00003.gguf".
std::string name_without_part(const fs::path& path, std::int64_t count) {
  const std::string ending = fmt::format("-00001-of-{:05}.gguf", count);
  const std::string name = path.filename().string();
  if (!name.ends_with(ending)) {
    throw Error(
        fmt::format("{}: the model is in {} files, and this name does not end with {}", path.string(), count, ending),
        "give the first of its files, with the names that they had");
  }
  return name.substr(0, name.size() - ending.size());
}

}  // namespace

GgufFiles::GgufFiles(const fs::path& path) {
  files_.push_back(GgufFile::open(path));
  const std::int64_t count = head().find_integer("split.count").value_or(1);
  if (count <= 1) return;
  if (count > kMostParts) throw Error(fmt::format("{}: split.count is {}", path.string(), count));
  const std::string name = name_without_part(path, count);
  for (std::int64_t part = 1; part < count; ++part) {
    const fs::path next = path.parent_path() / fmt::format("{}-{:05}-of-{:05}.gguf", name, part + 1, count);
    if (!fs::exists(next)) throw Error(fmt::format("{}: this part of the model is missing", next.string()));
    files_.push_back(GgufFile::open(next));
    if (const std::int64_t number = files_.back().integer("split.no"); number != part) {
      throw Error(fmt::format("{}: split.no is {}, expected {}", next.string(), number, part));
    }
  }
  std::set<std::string> seen;
  for (const GgufFile& file : files_) {
    for (const GgufTensor& tensor : file.tensors()) {
      if (seen.insert(tensor.name).second) continue;
      throw Error(fmt::format("{}: another part has the tensor '{}' as well", file.path().string(), tensor.name));
    }
  }
}

std::set<std::string> GgufFiles::names() const {
  std::set<std::string> names;
  for (const GgufFile& file : files_) {
    for (const GgufTensor& tensor : file.tensors()) names.insert(tensor.name);
  }
  return names;
}

const GgufTensor* GgufFiles::find(const std::string& name) const {
  for (const GgufFile& file : files_) {
    if (const GgufTensor* tensor = file.find(name)) return tensor;
  }
  return nullptr;
}

const GgufTensor& GgufFiles::at(const std::string& name) const {
  const GgufTensor* tensor = find(name);
  return tensor != nullptr ? *tensor : head().at(name);
}

void GgufFiles::release(const GgufTensor& tensor) const {
  for (const GgufFile& file : files_) {
    if (file.find(tensor.name) == &tensor) file.mapping()->release(tensor.bytes);
  }
}

}  // namespace crope::interop
