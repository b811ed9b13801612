#include "crope/data/token_rows.h"

#include <fmt/format.h>

#include <algorithm>

#include "crope/base/error.h"

namespace crope::data {

TokenRows::TokenRows(std::span<const std::filesystem::path> shards, std::int64_t seq_len, std::int64_t vocab_size)
    : seq_len_(seq_len), vocab_size_(vocab_size) {
  for (const std::filesystem::path& path : shards) {
    formats::TokenShard shard = formats::TokenShard::open(path);
    if (shard.size() == 0) continue;
    begins_.push_back(tokens_);
    tokens_ += shard.size();
    shards_.push_back(std::move(shard));
  }
  const auto T = static_cast<std::uint64_t>(seq_len);
  if (tokens_ < T + 1) {
    throw Error(fmt::format("too few tokens: a row of sequence length {} needs {}, {} found{}", T, T + 1, tokens_,
                            shards.empty() ? "" : " in " + shards.front().parent_path().string()),
                "prepare more text, or use a smaller seq_len");
  }
  rows_ = (tokens_ - 1) / T;
}

void TokenRows::read(std::uint64_t row, std::span<std::int64_t> out) const {
  std::uint64_t place = row * static_cast<std::uint64_t>(seq_len_);
  auto index = static_cast<std::size_t>(std::ranges::upper_bound(begins_, place) - begins_.begin()) - 1;
  std::vector<std::int32_t> ids;
  while (!out.empty()) {
    const formats::TokenShard& shard = shards_[index];
    const std::uint64_t offset = place - begins_[index];
    ids.resize(std::min<std::uint64_t>(out.size(), shard.size() - offset));
    shard.read(offset, ids);
    for (std::size_t i = 0; i < ids.size(); ++i) {
      if (ids[i] >= vocab_size_) {
        throw Error(fmt::format("{}: token {} is {}, outside the vocabulary of {}", shard.path().string(), offset + i,
                                ids[i], vocab_size_),
                    "the shards were made with another tokenizer than this model has");
      }
      out[i] = ids[i];
    }
    out = out.subspan(ids.size());
    place += ids.size();
    ++index;
  }
}

std::vector<std::int64_t> TokenRows::read_range(std::uint64_t first, std::uint64_t count) const {
  const auto length = static_cast<std::size_t>(seq_len_) + 1;
  std::vector<std::int64_t> tokens(count * length);
  for (std::uint64_t i = 0; i < count; ++i) read(first + i, std::span(tokens).subspan(i * length, length));
  return tokens;
}

}  // namespace crope::data
