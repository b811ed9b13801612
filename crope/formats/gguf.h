// The GGUF container of llama.cpp: keys with typed values, a table of tensors, then their bytes (docs/formats.md).
// Little-endian. Knows nothing of models or Torch; gguf_writer.h writes it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "crope/base/error.h"
#include "crope/base/file.h"

namespace crope::formats {

// A value of the file's metadata. The alternatives stand in the order of gguf_value_types below.
using GgufValue = std::variant<std::uint8_t, std::int8_t, std::uint16_t, std::int16_t, std::uint32_t, std::int32_t,
                               float, bool, std::string, std::uint64_t, std::int64_t, double,  //
                               std::vector<std::uint8_t>, std::vector<std::int8_t>, std::vector<std::uint16_t>,
                               std::vector<std::int16_t>, std::vector<std::uint32_t>, std::vector<std::int32_t>,
                               std::vector<float>, std::vector<bool>, std::vector<std::string>,
                               std::vector<std::uint64_t>, std::vector<std::int64_t>, std::vector<double>>;

// In the order in which they stand in the file.
using GgufMetadata = std::vector<std::pair<std::string, GgufValue>>;

// How the elements of a tensor are stored; the numbers are ggml's. Others are refused by the reader.
enum class GgmlType : std::uint32_t {
  f32 = 0,
  f16 = 1,
  q4_0 = 2,
  q4_1 = 3,
  q5_0 = 6,
  q5_1 = 7,
  q8_0 = 8,
  q4_k = 12,
  q5_k = 13,
  q6_k = 14,
  bf16 = 30,
};

std::string_view ggml_type_name(GgmlType type);  // "F32", "Q8_0"

// Elements are stored in blocks along the last dimension: one element each, 32 of the types whose name ends in a digit,
// 256 of those that end in K (ggml_decode.h).
struct GgmlBlock {
  std::int64_t elements;
  std::int64_t bytes;
};
GgmlBlock ggml_block(GgmlType type);

inline constexpr std::uint32_t kGgufDefaultAlignment = 32;
inline constexpr std::string_view kGgufAlignmentKey = "general.alignment";

// A tensor inside a mapped file.
struct GgufTensor {
  std::string name;
  GgmlType type;
  std::vector<std::int64_t> shape;  // in C order, rows first: the file has it reversed
  std::span<std::byte> bytes;       // aligned as the file says
};

// A file whose whole head has been checked before anything of it is used. The bytes are mapped, not read.
class GgufFile {
 public:
  // Throws Error naming the file, and the key or tensor and the byte, if anything is not as the format says: magic,
  // version (2 and 3 are read), counts, lengths, types, names that are empty, too long or there twice, shapes that
  // overflow or do not fill whole blocks, offsets that are not where the tensor before ends, bytes missing or left.
  static GgufFile open(const std::filesystem::path& path);

  const std::filesystem::path& path() const { return file_->path(); }
  const GgufMetadata& metadata() const { return metadata_; }
  const std::vector<GgufTensor>& tensors() const { return tensors_; }  // in the order of their bytes

  // Null when there is none of that name.
  const GgufValue* find_value(std::string_view key) const;
  const GgufTensor* find(std::string_view name) const;

  // The value of a key. Throws Error if it is absent or of another type.
  template <typename T>
  const T& value(std::string_view key) const {
    const GgufValue* found = find_value(key);
    const T* typed = found == nullptr ? nullptr : std::get_if<T>(found);
    if (typed == nullptr) fail_value(key, found != nullptr);
    return *typed;
  }

  // A whole number of any width, or a number of any kind; nothing if the key is absent. Throws Error if it has another
  // type, or does not fit.
  std::optional<std::int64_t> find_integer(std::string_view key) const;
  std::optional<double> find_number(std::string_view key) const;

  // The number of a key that must be there: throws Error also if it is absent.
  std::int64_t integer(std::string_view key) const;
  double number(std::string_view key) const;

  // Throws Error when there is none of that name.
  const GgufTensor& at(std::string_view name) const;

  // Keep this to keep the tensors' bytes beyond the life of this object.
  std::shared_ptr<MappedFile> mapping() const { return file_; }

 private:
  [[noreturn]] void fail_value(std::string_view key, bool exists) const;

  std::shared_ptr<MappedFile> file_;
  GgufMetadata metadata_;
  std::vector<GgufTensor> tensors_;
  std::map<std::string, std::size_t, std::less<>> keys_;
  std::map<std::string, std::size_t, std::less<>> names_;
};

// Bytes of a tensor. Throws Error, starting with `origin`, if the shape has no or more than 4 dimensions, one that is
// not positive, or a last one that does not fill whole blocks, or if the product does not fit 63 bits.
std::uint64_t ggml_byte_count(GgmlType type, std::span<const std::int64_t> shape, std::string_view origin);

// Throws Error, starting with `origin`, unless the alignment is a power of two from 8 to 1 MiB.
void check_gguf_alignment(std::uint64_t alignment, std::string_view origin);

// Throws Error, starting with `origin`, if readers would refuse the name of a key or a tensor for its length.
void check_gguf_key(std::string_view key, std::string_view origin);
void check_gguf_tensor_name(std::string_view name, std::string_view origin);

}  // namespace crope::formats
