#include "crope/formats/gguf_writer.h"

#include <fmt/format.h>

#include <set>
#include <type_traits>

#include "crope/base/rounding.h"

namespace crope::formats {
namespace fs = std::filesystem;
namespace {

constexpr std::uint32_t kGgufVersion = 3;
constexpr std::string_view kGgufOrigin = "[write_gguf]";

template <typename T>
struct IsVector : std::false_type {};
template <typename T>
struct IsVector<std::vector<T>> : std::true_type {};

// The head of a file as bytes.
class GgufHead {
 public:
  void append_text(std::string_view text) { bytes_ += text; }

  template <typename T>
  void append(const T& value) {
    if constexpr (std::is_same_v<T, std::string>) {
      append<std::uint64_t>(value.size());
      bytes_ += value;
    } else if constexpr (std::is_same_v<T, bool>) {
      bytes_ += static_cast<char>(value ? 1 : 0);
    } else {
      static_assert(std::is_arithmetic_v<T>);
      bytes_.append(reinterpret_cast<const char*>(&value), sizeof(T));
    }
  }

  void append_value(const GgufValue& value) {
    constexpr std::uint32_t kArray = 9;
    std::visit(
        [&](const auto& typed) {
          using T = std::decay_t<decltype(typed)>;
          if constexpr (IsVector<T>::value) {
            using Element = typename T::value_type;
            append(kArray);
            append(type_number<Element>());
            append<std::uint64_t>(typed.size());
            for (const Element& element : typed) append<Element>(element);
          } else {
            append(type_number<T>());
            append(typed);
          }
        },
        value);
  }

  void pad(std::uint64_t alignment) { bytes_.resize(round_up(bytes_.size(), alignment), '\0'); }

  const std::string& bytes() const { return bytes_; }

 private:
  template <typename T>
  static constexpr std::uint32_t type_number() {
    if constexpr (std::is_same_v<T, std::uint8_t>) return 0;
    if constexpr (std::is_same_v<T, std::int8_t>) return 1;
    if constexpr (std::is_same_v<T, std::uint16_t>) return 2;
    if constexpr (std::is_same_v<T, std::int16_t>) return 3;
    if constexpr (std::is_same_v<T, std::uint32_t>) return 4;
    if constexpr (std::is_same_v<T, std::int32_t>) return 5;
    if constexpr (std::is_same_v<T, float>) return 6;
    if constexpr (std::is_same_v<T, bool>) return 7;
    if constexpr (std::is_same_v<T, std::string>) return 8;
    if constexpr (std::is_same_v<T, std::uint64_t>) return 10;
    if constexpr (std::is_same_v<T, std::int64_t>) return 11;
    if constexpr (std::is_same_v<T, double>) return 12;
  }

  std::string bytes_;
};

std::uint64_t alignment_of(const GgufMetadata& metadata) {
  for (const auto& [key, value] : metadata) {
    if (key != kGgufAlignmentKey) continue;
    const auto* alignment = std::get_if<std::uint32_t>(&value);
    check_gguf_alignment(alignment == nullptr ? 0 : *alignment, kGgufOrigin);
    return *alignment;
  }
  return kGgufDefaultAlignment;
}

std::string source_origin(const GgufTensorSource& tensor) {
  return fmt::format("{} tensor '{}'", kGgufOrigin, tensor.name);
}

std::string make_gguf_head(const GgufMetadata& metadata, const std::vector<GgufTensorSource>& tensors,
                           std::uint64_t alignment) {
  GgufHead head;
  head.append_text("GGUF");
  head.append(kGgufVersion);
  head.append<std::uint64_t>(tensors.size());
  head.append<std::uint64_t>(metadata.size());
  std::set<std::string> used;
  for (const auto& [key, value] : metadata) {
    check_gguf_key(key, kGgufOrigin);
    if (!used.insert(key).second) throw Error(fmt::format("{} the key '{}' is given twice", kGgufOrigin, key));
    head.append(key);
    head.append_value(value);
  }
  used.clear();
  std::uint64_t offset = 0;
  for (const GgufTensorSource& tensor : tensors) {
    check_gguf_tensor_name(tensor.name, kGgufOrigin);
    if (!used.insert(tensor.name).second) throw Error(source_origin(tensor) + " is given twice");
    const std::uint64_t bytes = ggml_byte_count(tensor.type, tensor.shape, source_origin(tensor));
    head.append(tensor.name);
    head.append(static_cast<std::uint32_t>(tensor.shape.size()));
    for (auto extent = tensor.shape.rbegin(); extent != tensor.shape.rend(); ++extent) head.append(*extent);
    head.append(static_cast<std::uint32_t>(tensor.type));
    head.append(offset);
    offset += round_up(bytes, alignment);
  }
  head.pad(alignment);
  return head.bytes();
}

}  // namespace

void write_gguf(const fs::path& path, const GgufMetadata& metadata, const std::vector<GgufTensorSource>& tensors) {
  const std::uint64_t alignment = alignment_of(metadata);
  const std::string head = make_gguf_head(metadata, tensors, alignment);
  AtomicFile file(path);
  file.write(head);
  for (const GgufTensorSource& tensor : tensors) {
    const std::uint64_t expected = ggml_byte_count(tensor.type, tensor.shape, source_origin(tensor));
    std::uint64_t written = 0;
    tensor.produce([&](std::span<const std::byte> piece) {
      written += piece.size();
      file.write(piece);
    });
    if (written != expected) {
      throw Error(fmt::format("{}: expected {} bytes, its source gave {}", source_origin(tensor), expected, written));
    }
    file.write(std::string((alignment - expected % alignment) % alignment, '\0'));
  }
  file.commit();
}

}  // namespace crope::formats
