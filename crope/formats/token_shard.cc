#include "crope/formats/token_shard.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <bit>
#include <charconv>
#include <cstring>
#include <limits>
#include <string>

#include "crope/base/error.h"

namespace crope::formats {
namespace fs = std::filesystem;
namespace {

static_assert(std::endian::native == std::endian::little, "the formats are little-endian and mapped as they are");

constexpr std::size_t kHeaderFields = 256;
constexpr std::size_t kHeaderBytes = kHeaderFields * sizeof(std::int32_t);
constexpr std::size_t kWriteBufferBytes = std::size_t{1} << 20;
constexpr std::size_t kBlockTokens = 4096;  // converted at a time
constexpr std::string_view kNumpyMagic = "\x93NUMPY";

struct Layout {
  TokenWidth width;
  std::int32_t magic;
  std::int32_t version;
};
constexpr std::array<Layout, 2> kLayouts = {{
    {TokenWidth::u16, 20240520, 1},
    {TokenWidth::u32, 20240801, 7},
}};

// Where the tokens of a file stand.
struct Place {
  std::uint64_t offset;
  std::uint64_t tokens;
  TokenWidth width;
};

[[noreturn]] void fail(const MappedFile& file, const std::string& what) {
  throw Error(fmt::format("{}: {}", file.path().string(), what),
              "the file is damaged or not a token shard: fetch or write it again");
}

void check_size(const MappedFile& file, const Place& place) {
  const std::uint64_t expected = place.offset + place.tokens * static_cast<std::uint64_t>(place.width);
  if (file.bytes().size() != expected) {
    fail(file, fmt::format("{}: {} tokens of {} need {} bytes, the file has {}",
                           file.bytes().size() < expected ? "truncated" : "too long", place.tokens,
                           token_width_name(place.width), expected, file.bytes().size()));
  }
}

Place read_bin_header(const MappedFile& file) {
  const std::span<const std::byte> bytes = file.bytes();
  if (bytes.size() < kHeaderBytes) {
    fail(file, fmt::format("not a token shard: the header has {} bytes, the file {}", kHeaderBytes, bytes.size()));
  }
  std::array<std::int32_t, kHeaderFields> header;
  std::memcpy(header.data(), bytes.data(), kHeaderBytes);
  const auto layout = std::ranges::find(kLayouts, header[0], &Layout::magic);
  if (layout == kLayouts.end()) {
    fail(file, fmt::format("not a token shard: it starts with {}, expected {} (uint16) or {} (uint32)", header[0],
                           kLayouts[0].magic, kLayouts[1].magic));
  }
  if (header[1] != layout->version) {
    fail(file, fmt::format("version {} of a {} shard, expected {}", header[1], token_width_name(layout->width),
                           layout->version));
  }
  if (header[2] < 0) fail(file, fmt::format("a negative number of tokens: {}", header[2]));
  return {kHeaderBytes, static_cast<std::uint64_t>(header[2]), layout->width};
}

// What follows `key` in the header of a .npy file, a Python dictionary on one line; empty when there is no such key.
std::string_view value_after(std::string_view dictionary, std::string_view key) {
  const std::size_t at = dictionary.find(fmt::format("'{}':", key));
  if (at == std::string_view::npos) return {};
  const std::string_view rest = dictionary.substr(at + key.size() + 3);
  return rest.substr(std::min(rest.find_first_not_of(' '), rest.size()));
}

Place read_npy_header(const MappedFile& file) {
  const std::string_view text(reinterpret_cast<const char*>(file.bytes().data()), file.bytes().size());
  if (!text.starts_with(kNumpyMagic) || text.size() < 12)
    fail(file, "not a .npy file: it does not start with \\x93NUMPY");
  const int version = static_cast<unsigned char>(text[6]);
  if (version < 1 || version > 3) fail(file, fmt::format("version {} of .npy, expected 1 to 3", version));
  const std::size_t length_bytes = version == 1 ? 2 : 4;
  std::uint32_t length = 0;
  std::memcpy(&length, text.data() + 8, length_bytes);
  const std::size_t offset = 8 + length_bytes + length;
  if (offset > text.size()) {
    fail(file, fmt::format("truncated: a header of {} bytes, but the file has {}", length, text.size()));
  }
  const std::string_view header = text.substr(8 + length_bytes, length);
  const std::string_view type = value_after(header, "descr");
  if (!type.starts_with("'<u2'") && !type.starts_with("'<u4'")) {
    fail(file, fmt::format("expected an array of '<u2' or '<u4', found {}", type.substr(0, type.find(','))));
  }
  const TokenWidth width = type[3] == '2' ? TokenWidth::u16 : TokenWidth::u32;
  const std::string_view shape = value_after(header, "shape");
  std::uint64_t tokens = 0;
  const char* end = shape.data() + shape.size();
  const auto [rest, code] = std::from_chars(shape.data() + (shape.starts_with('(') ? 1 : 0), end, tokens);
  if (!shape.starts_with('(') || code != std::errc() || !std::string_view(rest, end).starts_with(",)") ||
      tokens > text.size()) {
    fail(file, fmt::format("expected one dimension that fits the file, found the shape {}",
                           shape.substr(0, std::min(shape.find(')'), shape.size() - 1) + 1)));
  }
  return {offset, tokens, width};
}

// Throws for the first id that the width cannot hold.
void check_ids(std::span<const std::int32_t> ids, TokenWidth width) {
  // One pass without branches: a negative id is a large unsigned one.
  std::uint32_t bits = 0;
  for (const std::int32_t id : ids) bits |= static_cast<std::uint32_t>(id);
  const std::uint32_t limit =
      width == TokenWidth::u16 ? std::numeric_limits<std::uint16_t>::max() : std::numeric_limits<std::int32_t>::max();
  if (bits <= limit) return;
  const auto bad = std::ranges::find_if(ids, [&](std::int32_t id) { return static_cast<std::uint32_t>(id) > limit; });
  throw Error(fmt::format("token {} does not fit a shard of {}", *bad, token_width_name(width)));
}

}  // namespace

std::string_view token_width_name(TokenWidth width) {
  return width == TokenWidth::u16 ? "uint16" : "uint32";
}

TokenWidth token_width_for(std::int64_t vocab_size) {
  return vocab_size <= 1 << 16 ? TokenWidth::u16 : TokenWidth::u32;
}

TokenShard TokenShard::open(const fs::path& path) {
  TokenShard shard;
  shard.file_ = MappedFile::open(path);
  const Place place = path.extension() == ".npy" ? read_npy_header(*shard.file_) : read_bin_header(*shard.file_);
  check_size(*shard.file_, place);
  shard.offset_ = place.offset;
  shard.size_ = place.tokens;
  shard.width_ = place.width;
  return shard;
}

void TokenShard::read(std::uint64_t begin, std::span<std::int32_t> out) const {
  if (out.empty()) return;
  const std::byte* source = file_->bytes().data() + offset_ + begin * static_cast<std::uint64_t>(width_);
  // By memcpy: the header of a .npy file may leave the tokens at any address.
  if (width_ == TokenWidth::u16) {
    for (std::size_t i = 0; i < out.size(); ++i) {
      std::uint16_t token;
      std::memcpy(&token, source + 2 * i, 2);
      out[i] = token;
    }
    return;
  }
  std::memcpy(out.data(), source, out.size_bytes());
  const auto bad = std::ranges::find_if(out, [](std::int32_t token) { return token < 0; });
  if (bad != out.end()) {
    throw Error(fmt::format("{}: token {} is {}, which no vocabulary has", path().string(),
                            begin + static_cast<std::uint64_t>(bad - out.begin()), static_cast<std::uint32_t>(*bad)));
  }
}

TokenShardWriter::TokenShardWriter(const fs::path& path, TokenWidth width) : file_(path), width_(width) {
  buffer_.reserve(kWriteBufferBytes + kBlockTokens * sizeof(std::int32_t));
  buffer_.resize(kHeaderBytes);  // a hole that commit() fills
}

void TokenShardWriter::append(std::span<const std::int32_t> tokens) {
  if (tokens.size() > kMostTokens - size_) throw Error(fmt::format("a shard holds at most {} tokens", kMostTokens));
  size_ += tokens.size();
  while (!tokens.empty()) {
    const std::span<const std::int32_t> part = tokens.first(std::min(tokens.size(), kBlockTokens));
    check_ids(part, width_);
    const std::size_t place = buffer_.size();
    buffer_.resize(place + part.size() * static_cast<std::size_t>(width_));
    if (width_ == TokenWidth::u32) {
      std::memcpy(buffer_.data() + place, part.data(), part.size_bytes());
    } else {
      std::array<std::uint16_t, kBlockTokens> narrow;
      std::ranges::transform(part, narrow.begin(), [](std::int32_t id) { return static_cast<std::uint16_t>(id); });
      std::memcpy(buffer_.data() + place, narrow.data(), 2 * part.size());
    }
    if (buffer_.size() >= kWriteBufferBytes) flush();
    tokens = tokens.subspan(part.size());
  }
}

void TokenShardWriter::flush() {
  file_.write(buffer_);
  buffer_.clear();
}

void TokenShardWriter::commit() {
  flush();
  const auto layout = std::ranges::find(kLayouts, width_, &Layout::width);
  const std::array<std::int32_t, 3> fields = {layout->magic, layout->version, static_cast<std::int32_t>(size_)};
  file_.rewrite(0, std::as_bytes(std::span(fields)));
  file_.commit();
}

}  // namespace crope::formats
