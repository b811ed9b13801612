// Checks a data directory: opens every shard and reads every token.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "crope/base/log.h"
#include "crope/data/data_dir.h"

namespace crope::data {

struct ShardReport {
  std::filesystem::path path;
  formats::TokenWidth width = formats::TokenWidth::u16;
  std::uint64_t tokens = 0;
  std::uint64_t documents = 0;  // end-of-text tokens; 0 when that token is not known
  std::uint64_t bytes = 0;      // of text; 0 when the tokens' lengths are not known
  std::int32_t highest_id = -1;
};

struct SplitReport {
  std::vector<ShardReport> shards;

  std::uint64_t tokens() const;
  std::uint64_t documents() const;
  std::uint64_t bytes() const;
};

struct DirReport {
  SplitReport train, val;
};

struct InspectOptions {
  std::optional<std::int32_t> end_of_text;  // counts documents
  std::optional<std::int64_t> vocab_size;   // checks ids
  // The bytes of each token, 0 for the end-of-text token; empty, or vocab_size of them. Counts bytes.
  std::vector<std::uint32_t> token_lengths = {};
};

// Throws Error naming the shard for damage and ids outside the vocabulary, and if dataset.json counts other documents
// or tokens than there are.
DirReport inspect(const DataDir& dir, const InspectOptions& options, Log& log);

// The beginnings of documents, up to `longest` tokens each and without their end-of-text token, taken at `count` places
// spread evenly over the shards' tokens; fewer if there are fewer documents.
std::vector<std::vector<std::int32_t>> sample_documents(const std::vector<std::filesystem::path>& shards,
                                                        std::int32_t end_of_text, std::size_t count,
                                                        std::size_t longest);

}  // namespace crope::data
