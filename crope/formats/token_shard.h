// Token shards: llm.c's .bin files, and numpy's .npy as some pipelines write them (docs/data.md).
//
//   .bin   256 little-endian int32: magic, version, number of tokens, zeros; then the tokens
//          magic 20240520, version 1: uint16 (GPT-2 and other vocabularies up to 65,536)
//          magic 20240801, version 7: uint32
//   .npy   one-dimensional, '<u2' or '<u4', read only
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <span>
#include <string_view>
#include <vector>

#include "crope/base/file.h"

namespace crope::formats {

enum class TokenWidth { u16 = 2, u32 = 4 };  // the value is the number of bytes

std::string_view token_width_name(TokenWidth width);  // "uint16", "uint32"

// The narrowest width that holds the ids 0 to vocab_size - 1.
TokenWidth token_width_for(std::int64_t vocab_size);

// A shard whose header has been checked against the size of the file. The tokens are mapped, not read.
// Safe for concurrent use.
class TokenShard {
 public:
  // Throws Error naming the file, the field, what was expected and what came. A file that ends in .npy is read as
  // numpy's, any other as llm.c's.
  static TokenShard open(const std::filesystem::path& path);

  const std::filesystem::path& path() const { return file_->path(); }
  std::uint64_t size() const { return size_; }
  TokenWidth width() const { return width_; }

  // tokens[begin, begin + out.size()). REQUIRES: they are within the shard.
  // Throws Error, naming the place, for a uint32 that is no token of anybody: 2^31 and above.
  void read(std::uint64_t begin, std::span<std::int32_t> out) const;

  // Gives the memory behind the tokens back to the system: for a walk over more shards than fit.
  void release() const { file_->release(file_->bytes()); }

 private:
  std::shared_ptr<MappedFile> file_;
  std::uint64_t offset_ = 0;  // of the first token, in bytes
  std::uint64_t size_ = 0;    // tokens
  TokenWidth width_ = TokenWidth::u16;
};

// A .bin file that appears, complete, with commit(); see AtomicFile.
class TokenShardWriter {
 public:
  static constexpr std::uint64_t kMostTokens = (std::uint64_t{1} << 31) - 1;  // the header counts in an int32

  TokenShardWriter(const std::filesystem::path& path, TokenWidth width);

  // Throws Error for an id that the width cannot hold, for more than kMostTokens, and on a full disk.
  void append(std::span<const std::int32_t> tokens);

  std::uint64_t size() const { return size_; }

  void commit();

 private:
  void flush();

  AtomicFile file_;
  TokenWidth width_;
  std::uint64_t size_ = 0;
  std::vector<std::byte> buffer_;
};

}  // namespace crope::formats
