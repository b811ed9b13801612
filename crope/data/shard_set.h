// A stream of tokens cut into shards of equal length: train_000000.bin, train_000001.bin, …
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <span>
#include <string>

#include "crope/formats/token_shard.h"

namespace crope::data {

class ShardSetWriter {
 public:
  // `split` is "train" or "val". REQUIRES: 0 < shard_tokens <= TokenShardWriter::kMostTokens.
  ShardSetWriter(std::filesystem::path folder, std::string split, formats::TokenWidth width,
                 std::uint64_t shard_tokens);

  // Documents run on from one shard into the next. Throws Error on a full disk.
  void append(std::span<const std::int32_t> tokens);

  // Completes the last shard. Without tokens there is no shard.
  void finish();

  std::uint64_t tokens() const { return tokens_; }
  std::uint64_t shards() const { return shards_; }

 private:
  std::filesystem::path folder_;
  std::string split_;
  formats::TokenWidth width_;
  std::uint64_t shard_tokens_;
  std::uint64_t tokens_ = 0;
  std::uint64_t shards_ = 0;  // begun
  std::optional<formats::TokenShardWriter> writer_;
};

}  // namespace crope::data
