// The safetensors container: a JSON header with names, types, shapes and places, then the raw bytes (docs/formats.md).
// Little-endian, C order, no holes. Knows nothing of models or Torch.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "crope/base/file.h"

namespace crope::formats {

enum class ElementType { f64, f32, f16, bf16, i64, i32, i16, i8, u8, boolean };

std::size_t element_size(ElementType type);
std::string_view element_name(ElementType type);  // as the file spells it: "F32", "BF16", "BOOL"

using Metadata = std::map<std::string, std::string>;

// A tensor inside a mapped file. The bytes may stand at any address: check the alignment before a cast.
struct StoredTensor {
  std::string name;
  ElementType type;
  std::vector<std::int64_t> shape;
  std::span<std::byte> bytes;  // private to the process: see MappedFile
};

// A file whose whole header has been checked before anything of it is used. The bytes are mapped, not read.
class SafetensorsFile {
 public:
  // Throws Error naming the file, the tensor and the field if anything is not as the format says: header length,
  // JSON, types, shapes, byte ranges outside the file, overlapping or with gaps, duplicate names.
  static SafetensorsFile open(const std::filesystem::path& path);

  const std::filesystem::path& path() const { return file_->path(); }
  const Metadata& metadata() const { return metadata_; }
  const std::vector<StoredTensor>& tensors() const { return tensors_; }  // in the order of their bytes

  // Null when there is none of that name.
  const StoredTensor* find(std::string_view name) const;

  // Throws Error when there is none of that name.
  const StoredTensor& at(std::string_view name) const;

  // Keep this to keep the tensors' bytes beyond the life of this object.
  std::shared_ptr<MappedFile> mapping() const { return file_; }

 private:
  std::shared_ptr<MappedFile> file_;
  Metadata metadata_;
  std::vector<StoredTensor> tensors_;
  std::map<std::string, std::size_t, std::less<>> index_;
};

// A tensor to be written. `produce` is called once, when the writer has come to it, and hands its bytes over in one
// or several pieces; so a converted tensor exists only while it is being written.
struct TensorSource {
  using Sink = std::function<void(std::span<const std::byte>)>;

  std::string name;
  ElementType type;
  std::vector<std::int64_t> shape;
  std::function<void(const Sink&)> produce;
};

// The bytes of a file with these tensors before their data. Sorts `tensors` into the order of their data.
// Throws Error on a bad name or shape.
std::string safetensors_prefix(std::vector<TensorSource>& tensors, Metadata metadata = {});

// The bytes of a tensor's data. REQUIRES: a possible shape, as safetensors_prefix checks.
std::uint64_t data_size(const TensorSource& tensor);

// Writes atomically, largest elements first and then by name, data aligned to 8 bytes: the same tensors give the
// same file. `metadata` gets {"format": "pt"} unless it has one, which older readers ask for.
// Throws Error on a bad name or shape, when `produce` gives another number of bytes than the shape says, and when
// the disk is full; the file that was there before stays then.
void write_safetensors(const std::filesystem::path& path, std::vector<TensorSource> tensors, Metadata metadata = {});

}  // namespace crope::formats
