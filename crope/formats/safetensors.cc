#include "crope/formats/safetensors.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cstring>
#include <limits>
#include <optional>

#include "crope/base/error.h"
#include "crope/base/json.h"

namespace crope::formats {
namespace fs = std::filesystem;
namespace {

static_assert(std::endian::native == std::endian::little, "the format is little-endian and mapped as it is");

constexpr std::uint64_t kLengthBytes = 8;
constexpr std::uint64_t kLongestHeader = 100'000'000;  // the limit of the format's own reader
constexpr std::size_t kMostDimensions = 16;
constexpr std::string_view kMetadataKey = "__metadata__";

struct TypeRow {
  ElementType type;
  std::string_view name;
  std::size_t size;
};
constexpr std::array<TypeRow, 10> kTypes = {{
    {ElementType::f64, "F64", 8},
    {ElementType::f32, "F32", 4},
    {ElementType::f16, "F16", 2},
    {ElementType::bf16, "BF16", 2},
    {ElementType::i64, "I64", 8},
    {ElementType::i32, "I32", 4},
    {ElementType::i16, "I16", 2},
    {ElementType::i8, "I8", 1},
    {ElementType::u8, "U8", 1},
    {ElementType::boolean, "BOOL", 1},
}};

const TypeRow& row_of(ElementType type) {
  return *std::ranges::find(kTypes, type, &TypeRow::type);
}

// Bytes of a tensor, or nothing if the shape is negative or the product does not fit 63 bits.
std::optional<std::uint64_t> byte_count(ElementType type, std::span<const std::int64_t> shape) {
  constexpr auto kMost = static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max());
  std::uint64_t bytes = element_size(type);
  for (const std::int64_t extent : shape) {
    if (extent < 0) return std::nullopt;
    if (extent > 0 && bytes > kMost / static_cast<std::uint64_t>(extent)) return std::nullopt;
    bytes *= static_cast<std::uint64_t>(extent);
  }
  return bytes;
}

// Reads the header of one file; every message starts with the file's name.
class HeaderReader {
 public:
  explicit HeaderReader(const MappedFile& file) : file_(file) {}

  void read(Metadata* metadata, std::vector<StoredTensor>* tensors) {
    const SortedJson header = parse_header();
    for (const auto& [name, value] : header.items()) {
      if (name == kMetadataKey) {
        read_metadata(value, metadata);
      } else {
        tensors->push_back(read_tensor(name, value));
      }
    }
    // By both ends: an empty tensor stands before the one that starts at the same place.
    std::ranges::stable_sort(*tensors, {}, [](const StoredTensor& tensor) {
      return std::pair(tensor.bytes.data(), tensor.bytes.data() + tensor.bytes.size());
    });
    check_contiguous(*tensors);
  }

 private:
  [[noreturn]] void fail(const std::string& what, const std::string& hint = kDamaged) const {
    throw Error(fmt::format("{}: {}", file_.path().string(), what), hint);
  }

  SortedJson parse_header() {
    const std::span<std::byte> bytes = file_.bytes();
    if (bytes.size() < kLengthBytes) {
      fail(fmt::format("not a safetensors file: expected at least {} bytes, found {}", kLengthBytes, bytes.size()));
    }
    std::uint64_t length = 0;
    std::memcpy(&length, bytes.data(), kLengthBytes);
    if (length > kLongestHeader) {
      fail(fmt::format("not a safetensors file: its first 8 bytes give a header of {} bytes; at most {} are allowed",
                       length, kLongestHeader));
    }
    if (length > bytes.size() - kLengthBytes) {
      fail(fmt::format("truncated: the header should have {} bytes, but only {} follow", length,
                       bytes.size() - kLengthBytes));
    }
    const std::string_view text(reinterpret_cast<const char*>(bytes.data()) + kLengthBytes, length);
    if (text.empty() || text.front() != '{') fail("not a safetensors file: the header does not start with '{'");
    data_ = bytes.subspan(kLengthBytes + length);
    return parse_sorted_json(text, file_.path().string());
  }

  void read_metadata(const SortedJson& value, Metadata* metadata) const {
    if (!value.is_object()) fail(fmt::format("'{}' should be an object, found {}", kMetadataKey, value.type_name()));
    for (const auto& [key, text] : value.items()) {
      if (!text.is_string()) {
        fail(fmt::format("'{}.{}' should be a string, found {}", kMetadataKey, key, text.type_name()));
      }
      (*metadata)[key] = text.get<std::string>();
    }
  }

  StoredTensor read_tensor(const std::string& name, const SortedJson& value) const {
    if (!value.is_object()) fail(fmt::format("tensor '{}': expected an object, found {}", name, value.type_name()));
    for (const auto& [key, ignored] : value.items()) {
      if (key != "dtype" && key != "shape" && key != "data_offsets") {
        fail(fmt::format("tensor '{}': unknown field '{}'", name, key));
      }
    }
    StoredTensor tensor{.name = name, .type = read_type(name, value), .shape = read_shape(name, value), .bytes = {}};
    const std::optional<std::uint64_t> expected = byte_count(tensor.type, tensor.shape);
    if (!expected) fail(fmt::format("tensor '{}': a shape of more than 2^63 bytes", name));

    const std::vector<std::int64_t> offsets = read_integers(name, value, "data_offsets");
    if (offsets.size() != 2) {
      fail(fmt::format("tensor '{}': data_offsets should have 2 numbers, found {}", name, offsets.size()));
    }
    const std::int64_t begin = offsets[0], end = offsets[1];
    if (begin > end || static_cast<std::uint64_t>(end) > data_.size()) {
      fail(fmt::format("tensor '{}': bytes {} to {} are outside the file, which has {} bytes of data", name, begin, end,
                       data_.size()));
    }
    if (static_cast<std::uint64_t>(end - begin) != *expected) {
      fail(fmt::format("tensor '{}': its shape and type need {} bytes, data_offsets give {}", name, *expected,
                       end - begin));
    }
    tensor.bytes = data_.subspan(static_cast<std::size_t>(begin), static_cast<std::size_t>(end - begin));
    return tensor;
  }

  ElementType read_type(const std::string& name, const SortedJson& value) const {
    const auto field = value.find("dtype");
    if (field == value.end() || !field->is_string()) fail(fmt::format("tensor '{}': dtype should be a string", name));
    const auto row = std::ranges::find(kTypes, field->get_ref<const std::string&>(), &TypeRow::name);
    if (row == kTypes.end()) {
      fail(fmt::format("tensor '{}': dtype {} is not supported", name, field->dump()),
           "supported are F64 F32 F16 BF16 I64 I32 I16 I8 U8 BOOL");
    }
    return row->type;
  }

  std::vector<std::int64_t> read_shape(const std::string& name, const SortedJson& value) const {
    std::vector<std::int64_t> shape = read_integers(name, value, "shape");
    if (shape.size() > kMostDimensions) {
      fail(fmt::format("tensor '{}': {} dimensions; at most {} are supported", name, shape.size(), kMostDimensions));
    }
    return shape;
  }

  // A field that is an array of integers from 0 to 2^63 - 1.
  std::vector<std::int64_t> read_integers(const std::string& name, const SortedJson& value, const char* key) const {
    const auto field = value.find(key);
    if (field == value.end() || !field->is_array()) {
      fail(fmt::format("tensor '{}': {} should be an array of numbers", name, key));
    }
    std::vector<std::int64_t> numbers;
    for (const SortedJson& element : *field) {
      const bool fits =
          element.is_number_unsigned() && element.get<std::uint64_t>() <= std::numeric_limits<std::int64_t>::max();
      if (!fits) {
        fail(fmt::format("tensor '{}': {} should hold whole numbers below 2^63, found {}", name, key, element.dump()));
      }
      numbers.push_back(element.get<std::int64_t>());
    }
    return numbers;
  }

  void check_contiguous(std::span<const StoredTensor> tensors) const {
    const std::byte* expected = data_.data();
    for (const StoredTensor& tensor : tensors) {
      if (tensor.bytes.data() != expected) {
        fail(fmt::format("tensor '{}': its bytes {} those of the tensor before it", tensor.name,
                         tensor.bytes.data() < expected ? "overlap" : "leave a gap after"));
      }
      expected = tensor.bytes.data() + tensor.bytes.size();
    }
    const std::ptrdiff_t rest = data_.data() + data_.size() - expected;
    if (rest != 0) fail(fmt::format("{} bytes after the last tensor belong to none", rest));
  }

  static constexpr const char* kDamaged = "the file is damaged or not a safetensors file: fetch or write it again";

  const MappedFile& file_;
  std::span<std::byte> data_;
};

// Names, types, shapes and places of `tensors`, in their order.
std::string make_header(std::span<const TensorSource> tensors, const Metadata& metadata) {
  Json header = Json::object();
  header[std::string(kMetadataKey)] = metadata;
  std::uint64_t offset = 0;
  for (const TensorSource& tensor : tensors) {
    const std::optional<std::uint64_t> bytes = byte_count(tensor.type, tensor.shape);
    if (!bytes) throw Error(fmt::format("[write_safetensors] tensor '{}': impossible shape", tensor.name));
    if (tensor.name == kMetadataKey || header.contains(tensor.name)) {
      throw Error(fmt::format("[write_safetensors] tensor name '{}' is reserved or used twice", tensor.name));
    }
    header[tensor.name] = {
        {"dtype", element_name(tensor.type)}, {"shape", tensor.shape}, {"data_offsets", {offset, offset + *bytes}}};
    offset += *bytes;
  }
  std::string text = header.dump();
  text.resize((text.size() + 7) / 8 * 8, ' ');
  return text;
}

}  // namespace

std::size_t element_size(ElementType type) {
  return row_of(type).size;
}

std::string_view element_name(ElementType type) {
  return row_of(type).name;
}

SafetensorsFile SafetensorsFile::open(const fs::path& path) {
  SafetensorsFile result;
  result.file_ = MappedFile::open(path);
  HeaderReader(*result.file_).read(&result.metadata_, &result.tensors_);
  for (std::size_t i = 0; i < result.tensors_.size(); ++i) result.index_.emplace(result.tensors_[i].name, i);
  return result;
}

const StoredTensor* SafetensorsFile::find(std::string_view name) const {
  const auto found = index_.find(name);
  return found == index_.end() ? nullptr : &tensors_[found->second];
}

const StoredTensor& SafetensorsFile::at(std::string_view name) const {
  const StoredTensor* tensor = find(name);
  if (tensor == nullptr) throw Error(fmt::format("{}: there is no tensor '{}'", path().string(), name));
  return *tensor;
}

std::string safetensors_prefix(std::vector<TensorSource>& tensors, Metadata metadata) {
  std::ranges::sort(tensors, [](const TensorSource& a, const TensorSource& b) {
    const std::size_t size_a = element_size(a.type), size_b = element_size(b.type);
    return size_a != size_b ? size_a > size_b : a.name < b.name;
  });
  metadata.emplace("format", "pt");
  const std::string header = make_header(tensors, metadata);
  const std::uint64_t length = header.size();
  return std::string(reinterpret_cast<const char*>(&length), sizeof(length)) + header;
}

std::uint64_t data_size(const TensorSource& tensor) {
  return byte_count(tensor.type, tensor.shape).value();
}

void write_safetensors(const fs::path& path, std::vector<TensorSource> tensors, Metadata metadata) {
  const std::string prefix = safetensors_prefix(tensors, std::move(metadata));
  AtomicFile file(path);
  file.write(prefix);
  for (const TensorSource& tensor : tensors) {
    std::uint64_t written = 0;
    tensor.produce([&](std::span<const std::byte> piece) {
      written += piece.size();
      file.write(piece);
    });
    if (written != data_size(tensor)) {
      throw Error(fmt::format("[write_safetensors] tensor '{}': expected {} bytes, its source gave {}", tensor.name,
                              data_size(tensor), written));
    }
  }
  file.commit();
}

}  // namespace crope::formats
