#include "crope/data/shard_set.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

namespace crope::data {

ShardSetWriter::ShardSetWriter(std::filesystem::path folder, std::string split, formats::TokenWidth width,
                               std::uint64_t shard_tokens)
    : folder_(std::move(folder)), split_(std::move(split)), width_(width), shard_tokens_(shard_tokens) {}

void ShardSetWriter::append(std::span<const std::int32_t> tokens) {
  while (!tokens.empty()) {
    if (!writer_) writer_.emplace(folder_ / fmt::format("{}_{:06}.bin", split_, shards_++), width_);
    const std::size_t count = std::min<std::uint64_t>(tokens.size(), shard_tokens_ - writer_->size());
    writer_->append(tokens.first(count));
    tokens = tokens.subspan(count);
    tokens_ += count;
    if (writer_->size() == shard_tokens_) finish();
  }
}

void ShardSetWriter::finish() {
  if (!writer_) return;
  writer_->commit();
  writer_.reset();
}

}  // namespace crope::data
