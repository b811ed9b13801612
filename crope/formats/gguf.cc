#include "crope/formats/gguf.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cstring>
#include <limits>
#include <type_traits>
#include <utility>

#include "crope/base/rounding.h"

namespace crope::formats {
namespace fs = std::filesystem;
namespace {

static_assert(std::endian::native == std::endian::little, "the format is little-endian and mapped as it is");

constexpr std::string_view kGgufMagic = "GGUF";
constexpr std::uint32_t kOldestVersion = 2, kNewestVersion = 3;
constexpr std::uint32_t kGgufArrayType = 9;
constexpr std::size_t kLongestKey = 65535;        // of the specification
constexpr std::size_t kLongestTensorName = 63;    // of ggml, whose names end with a zero byte
constexpr std::uint32_t kMostGgmlDimensions = 4;  // of ggml
constexpr std::uint64_t kSmallestKey = 8 + 1 + 4 + 1, kSmallestTensor = 8 + 1 + 4 + 8 + 4 + 8;
constexpr std::uint64_t kLargestAlignment = 1 << 20;
constexpr const char* kDamagedGguf = "the file is damaged or not a GGUF file: fetch or write it again";

struct GgmlTypeRow {
  GgmlType type;
  std::string_view name;
  GgmlBlock block;
};
constexpr std::array<GgmlTypeRow, 11> kGgmlTypes = {{
    {GgmlType::f32, "F32", {1, 4}},
    {GgmlType::f16, "F16", {1, 2}},
    {GgmlType::q4_0, "Q4_0", {32, 18}},
    {GgmlType::q4_1, "Q4_1", {32, 20}},
    {GgmlType::q5_0, "Q5_0", {32, 22}},
    {GgmlType::q5_1, "Q5_1", {32, 24}},
    {GgmlType::q8_0, "Q8_0", {32, 34}},
    {GgmlType::q4_k, "Q4_K", {256, 144}},
    {GgmlType::q5_k, "Q5_K", {256, 176}},
    {GgmlType::q6_k, "Q6_K", {256, 210}},
    {GgmlType::bf16, "BF16", {1, 2}},
}};

const GgmlTypeRow& ggml_row(GgmlType type) {
  return *std::ranges::find(kGgmlTypes, type, &GgmlTypeRow::type);
}

// "supported: F32 (0), F16 (1), ..."
std::string supported_ggml_types() {
  std::string list = "supported:";
  for (const GgmlTypeRow& row : kGgmlTypes) {
    list += fmt::format("{} {} ({})", row.type == GgmlType::f32 ? "" : ",", row.name, static_cast<unsigned>(row.type));
  }
  return list;
}

// Reads the head of one file from its first byte on; every message starts with the file's name and says where.
class GgufHeadReader {
 public:
  explicit GgufHeadReader(const MappedFile& file) : origin_(file.path().string()), bytes_(file.bytes()) {}

  void read(GgufMetadata* metadata, std::map<std::string, std::size_t, std::less<>>* keys,
            std::vector<GgufTensor>* tensors, std::map<std::string, std::size_t, std::less<>>* names) {
    if (bytes_.size() < kGgufMagic.size() || std::memcmp(bytes_.data(), kGgufMagic.data(), kGgufMagic.size()) != 0) {
      fail("not a GGUF file: it does not begin with 'GGUF'");
    }
    position_ = kGgufMagic.size();
    read_version();
    const std::uint64_t tensor_count = read_count("tensors", kSmallestTensor);
    const std::uint64_t key_count = read_count("keys", kSmallestKey);
    std::uint64_t alignment = kGgufDefaultAlignment;
    for (std::uint64_t i = 0; i < key_count; ++i) {
      const std::string key = read_string("the name of a key");
      check_gguf_key(key, origin_);
      if (!keys->emplace(key, metadata->size()).second) fail(fmt::format("the key '{}' appears twice", key));
      metadata->emplace_back(key, read_value(key));
      if (key == kGgufAlignmentKey) alignment = read_alignment(metadata->back().second);
    }
    std::vector<std::uint64_t> offsets;
    for (std::uint64_t i = 0; i < tensor_count; ++i) {
      GgufTensor tensor;
      offsets.push_back(read_tensor(&tensor));
      if (!names->emplace(tensor.name, tensors->size()).second)
        fail(fmt::format("tensor '{}' appears twice", tensor.name));
      tensors->push_back(std::move(tensor));
    }
    place_tensors(tensors, offsets, alignment);
  }

 private:
  [[noreturn]] void fail(const std::string& what, const std::string& hint = kDamagedGguf) const {
    throw Error(fmt::format("{}: {}", origin_, what), hint);
  }

  std::uint64_t left() const { return bytes_.size() - position_; }

  const std::byte* take(std::uint64_t count, std::string_view what) {
    if (count > left()) {
      fail(fmt::format("truncated: {} at byte {} should have {} bytes, but only {} follow", what, position_, count,
                       left()));
    }
    const std::byte* start = bytes_.data() + position_;
    position_ += count;
    return start;
  }

  template <typename T>
  T read_number(std::string_view what) {
    T value;
    std::memcpy(&value, take(sizeof(T), what), sizeof(T));
    return value;
  }

  void read_version() {
    const auto version = read_number<std::uint32_t>("the version");
    if (version >= kOldestVersion && version <= kNewestVersion) return;
    const bool swapped = __builtin_bswap32(version) <= kNewestVersion;
    fail(fmt::format("GGUF version {}; versions {} to {} are read", version, kOldestVersion, kNewestVersion),
         swapped ? "the file is big-endian: convert it on the machine that wrote it" : "convert the model again");
  }

  // How many things of at least `smallest` bytes follow: no more than the file has room for.
  std::uint64_t read_count(const char* what, std::uint64_t smallest) {
    const auto count = read_number<std::uint64_t>(what);
    if (count > left() / smallest)
      fail(fmt::format("{} {} do not fit into a file of {} bytes", count, what, bytes_.size()));
    return count;
  }

  std::string read_string(std::string_view what) {
    const auto length = read_number<std::uint64_t>(what);
    return {reinterpret_cast<const char*>(take(length, what)), length};
  }

  template <typename T>
  T read_scalar(const std::string& key) {
    if constexpr (std::is_same_v<T, std::string>) {
      return read_string(key);
    } else if constexpr (std::is_same_v<T, bool>) {
      const auto value = read_number<std::uint8_t>(key);
      if (value > 1) fail(fmt::format("key '{}': expected true (1) or false (0), found {}", key, value));
      return value == 1;
    } else {
      return read_number<T>(key);
    }
  }

  template <typename T>
  std::vector<T> read_array(const std::string& key, std::uint64_t count) {
    constexpr std::uint64_t kSmallest = std::is_same_v<T, std::string> ? 8 : sizeof(T);
    if (count > left() / kSmallest) {
      fail(fmt::format("key '{}': an array of {} elements does not fit into a file of {} bytes", key, count,
                       bytes_.size()));
    }
    std::vector<T> values;
    values.reserve(count);
    for (std::uint64_t i = 0; i < count; ++i) values.push_back(read_scalar<T>(key));
    return values;
  }

  // Calls read(T()) with the C++ type that stands for one of the file.
  template <typename Read>
  GgufValue read_typed(const std::string& key, std::uint32_t type, const Read& read) {
    switch (type) {
      case 0:
        return read(std::uint8_t());
      case 1:
        return read(std::int8_t());
      case 2:
        return read(std::uint16_t());
      case 3:
        return read(std::int16_t());
      case 4:
        return read(std::uint32_t());
      case 5:
        return read(std::int32_t());
      case 6:
        return read(float());
      case 7:
        return read(bool());
      case 8:
        return read(std::string());
      case 10:
        return read(std::uint64_t());
      case 11:
        return read(std::int64_t());
      case 12:
        return read(double());
      default:
        fail(fmt::format("key '{}': unknown type {} at byte {}", key, type, position_ - sizeof(type)));
    }
  }

  GgufValue read_value(const std::string& key) {
    const auto type = read_number<std::uint32_t>(key);
    if (type != kGgufArrayType) {
      return read_typed(key, type, [&]<typename T>(const T&) -> GgufValue { return read_scalar<T>(key); });
    }
    const auto element = read_number<std::uint32_t>(key);
    const auto count = read_number<std::uint64_t>(key);
    return read_typed(key, element, [&]<typename T>(const T&) -> GgufValue { return read_array<T>(key, count); });
  }

  std::uint64_t read_alignment(const GgufValue& value) const {
    const auto* alignment = std::get_if<std::uint32_t>(&value);
    if (alignment == nullptr) fail(fmt::format("key '{}': expected a number of 32 bits", kGgufAlignmentKey));
    check_gguf_alignment(*alignment, origin_);
    return *alignment;
  }

  // Everything but the bytes. Returns the offset.
  std::uint64_t read_tensor(GgufTensor* tensor) {
    tensor->name = read_string("the name of a tensor");
    check_gguf_tensor_name(tensor->name, origin_);
    const auto dimensions = read_number<std::uint32_t>(tensor->name);
    if (dimensions < 1 || dimensions > kMostGgmlDimensions) {
      fail(fmt::format("tensor '{}': {} dimensions, expected 1 to {}", tensor->name, dimensions, kMostGgmlDimensions));
    }
    for (std::uint32_t d = 0; d < dimensions; ++d) {
      tensor->shape.insert(tensor->shape.begin(), read_number<std::int64_t>(tensor->name));
    }
    const auto type = read_number<std::uint32_t>(tensor->name);
    tensor->type = static_cast<GgmlType>(type);
    if (std::ranges::find(kGgmlTypes, tensor->type, &GgmlTypeRow::type) == kGgmlTypes.end()) {
      fail(fmt::format("tensor '{}': type {} is not supported", tensor->name, type), supported_ggml_types());
    }
    return read_number<std::uint64_t>(tensor->name);
  }

  void place_tensors(std::vector<GgufTensor>* tensors, std::span<const std::uint64_t> offsets,
                     std::uint64_t alignment) {
    const auto padded = [alignment](std::uint64_t size) { return round_up(size, alignment); };
    take(padded(position_) - position_, "the padding before the tensors");
    const std::uint64_t data = position_;
    for (std::size_t i = 0; i < tensors->size(); ++i) {
      GgufTensor& tensor = (*tensors)[i];
      if (offsets[i] != position_ - data) {
        fail(fmt::format("tensor '{}': offset {}, but the previous one ends at {}", tensor.name, offsets[i],
                         position_ - data));
      }
      const std::uint64_t size =
          ggml_byte_count(tensor.type, tensor.shape, fmt::format("{}: tensor '{}'", origin_, tensor.name));
      const std::uint64_t start = position_;
      take(size, tensor.name);
      take(padded(position_) - position_, "the padding after a tensor");
      tensor.bytes = bytes_.subspan(start, size);
    }
    if (left() != 0) fail(fmt::format("{} bytes after the last tensor belong to none", left()));
  }

  std::string origin_;
  std::span<std::byte> bytes_;
  std::uint64_t position_ = 0;
};

}  // namespace

std::string_view ggml_type_name(GgmlType type) {
  return ggml_row(type).name;
}

GgmlBlock ggml_block(GgmlType type) {
  return ggml_row(type).block;
}

std::uint64_t ggml_byte_count(GgmlType type, std::span<const std::int64_t> shape, std::string_view origin) {
  constexpr auto kMost = static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max());
  if (shape.empty() || shape.size() > kMostGgmlDimensions) {
    throw Error(fmt::format("{}: {} dimensions, expected 1 to {}", origin, shape.size(), kMostGgmlDimensions));
  }
  const GgmlBlock block = ggml_block(type);
  if (shape.back() % block.elements != 0) {
    throw Error(fmt::format("{}: rows of {} elements; {} has blocks of {}", origin, shape.back(), ggml_type_name(type),
                            block.elements));
  }
  auto bytes = static_cast<std::uint64_t>(block.bytes);
  for (std::size_t d = 0; d < shape.size(); ++d) {
    if (shape[d] < 1) throw Error(fmt::format("{}: a dimension of {}", origin, shape[d]));
    const std::int64_t extent = d + 1 == shape.size() ? shape[d] / block.elements : shape[d];
    if (bytes > kMost / static_cast<std::uint64_t>(extent)) {
      throw Error(fmt::format("{}: a shape of more than 2^63 bytes", origin));
    }
    bytes *= static_cast<std::uint64_t>(extent);
  }
  return bytes;
}

void check_gguf_alignment(std::uint64_t alignment, std::string_view origin) {
  if (std::has_single_bit(alignment) && alignment >= 8 && alignment <= kLargestAlignment) return;
  throw Error(fmt::format("{}: {} is {}, expected a power of two from 8 to {}", origin, kGgufAlignmentKey, alignment,
                          kLargestAlignment));
}

void check_gguf_key(std::string_view key, std::string_view origin) {
  if (!key.empty() && key.size() <= kLongestKey) return;
  throw Error(fmt::format("{}: a key of {} bytes, expected 1 to {}", origin, key.size(), kLongestKey));
}

void check_gguf_tensor_name(std::string_view name, std::string_view origin) {
  if (!name.empty() && name.size() <= kLongestTensorName) return;
  throw Error(fmt::format("{}: a tensor name of {} bytes, expected 1 to {}", origin, name.size(), kLongestTensorName));
}

GgufFile GgufFile::open(const fs::path& path) {
  GgufFile result;
  result.file_ = MappedFile::open(path);
  GgufHeadReader(*result.file_).read(&result.metadata_, &result.keys_, &result.tensors_, &result.names_);
  return result;
}

const GgufValue* GgufFile::find_value(std::string_view key) const {
  const auto found = keys_.find(key);
  return found == keys_.end() ? nullptr : &metadata_[found->second].second;
}

std::optional<std::int64_t> GgufFile::find_integer(std::string_view key) const {
  const GgufValue* found = find_value(key);
  if (found == nullptr) return std::nullopt;
  return std::visit(
      [&](const auto& typed) -> std::int64_t {
        using T = std::decay_t<decltype(typed)>;
        if constexpr (std::is_integral_v<T> && !std::is_same_v<T, bool>) {
          if (std::in_range<std::int64_t>(typed)) return static_cast<std::int64_t>(typed);
        }
        fail_value(key, /*exists=*/true);
      },
      *found);
}

std::optional<double> GgufFile::find_number(std::string_view key) const {
  const GgufValue* found = find_value(key);
  if (found == nullptr) return std::nullopt;
  return std::visit(
      [&](const auto& typed) -> double {
        using T = std::decay_t<decltype(typed)>;
        if constexpr (std::is_arithmetic_v<T> && !std::is_same_v<T, bool>) {
          return static_cast<double>(typed);
        } else {
          fail_value(key, /*exists=*/true);
        }
      },
      *found);
}

std::int64_t GgufFile::integer(std::string_view key) const {
  const std::optional<std::int64_t> value = find_integer(key);
  if (!value) fail_value(key, /*exists=*/false);
  return *value;
}

double GgufFile::number(std::string_view key) const {
  const std::optional<double> value = find_number(key);
  if (!value) fail_value(key, /*exists=*/false);
  return *value;
}

const GgufTensor* GgufFile::find(std::string_view name) const {
  const auto found = names_.find(name);
  return found == names_.end() ? nullptr : &tensors_[found->second];
}

const GgufTensor& GgufFile::at(std::string_view name) const {
  const GgufTensor* tensor = find(name);
  if (tensor == nullptr) throw Error(fmt::format("{}: there is no tensor '{}'", path().string(), name));
  return *tensor;
}

void GgufFile::fail_value(std::string_view key, bool exists) const {
  throw Error(exists ? fmt::format("{}: the key '{}' has another type than expected", path().string(), key)
                     : fmt::format("{}: the key '{}' is missing", path().string(), key),
              "the file is not of the kind that was expected, or incomplete: convert the model again");
}

}  // namespace crope::formats
