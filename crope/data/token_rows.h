// Shards as one stream of tokens, and that stream as rows for a model.
#pragma once

#include <cstdint>
#include <filesystem>
#include <span>
#include <vector>

#include "crope/formats/token_shard.h"

namespace crope::data {

// Row r is tokens[r*T .. r*T + T], both ends included: T + 1 tokens, of which the last is the first of row r + 1, so
// that every token but the very first is predicted once. Rows run across the borders of shards; the tokens after the
// last whole row are unused. Safe for concurrent use. On a validation part these are its fixed rows.
class TokenRows {
 public:
  // `vocab_size` is the size of the model's vocabulary. Throws Error if a shard is damaged, or if there are fewer
  // than T + 1 tokens. REQUIRES: seq_len > 0.
  TokenRows(std::span<const std::filesystem::path> shards, std::int64_t seq_len, std::int64_t vocab_size);

  std::uint64_t size() const { return rows_; }  // rows
  std::uint64_t tokens() const { return tokens_; }
  std::int64_t seq_len() const { return seq_len_; }

  // The T + 1 tokens of a row. REQUIRES: row < size(), out.size() == T + 1.
  // Throws Error naming shard and place for an id outside the vocabulary.
  void read(std::uint64_t row, std::span<std::int64_t> out) const;

  // Rows first, first + 1, …: [count, T + 1]. REQUIRES: first + count <= size().
  std::vector<std::int64_t> read_range(std::uint64_t first, std::uint64_t count) const;

 private:
  std::vector<formats::TokenShard> shards_;
  std::vector<std::uint64_t> begins_;  // the place of each shard's first token in the stream
  std::int64_t seq_len_;
  std::int64_t vocab_size_;
  std::uint64_t tokens_ = 0;
  std::uint64_t rows_ = 0;
};

}  // namespace crope::data
