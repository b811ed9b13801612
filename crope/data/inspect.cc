#include "crope/data/inspect.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>

#include "crope/base/error.h"
#include "crope/base/interrupt.h"
#include "crope/base/progress.h"

namespace crope::data {
namespace fs = std::filesystem;
namespace {

constexpr std::size_t kBlockTokens = std::size_t{1} << 16;

// Calls `function(begin, ids)` for blocks of the shard from token `begin` on, until it returns false.
template <typename Function>
void for_each_block(const formats::TokenShard& shard, std::uint64_t begin, Function&& function) {
  std::vector<std::int32_t> ids;
  for (; begin < shard.size(); begin += ids.size()) {
    ids.resize(std::min<std::uint64_t>(kBlockTokens, shard.size() - begin));
    shard.read(begin, ids);
    if (!function(begin, ids)) return;
  }
}

std::uint64_t sum_of(const std::vector<ShardReport>& shards, std::uint64_t ShardReport::*field) {
  std::uint64_t sum = 0;
  for (const ShardReport& shard : shards) sum += shard.*field;
  return sum;
}

ShardReport inspect_shard(const fs::path& path, const InspectOptions& options) {
  const formats::TokenShard shard = formats::TokenShard::open(path);
  ShardReport report{.path = path, .width = shard.width(), .tokens = shard.size()};
  for_each_block(shard, 0, [&](std::uint64_t begin, const std::vector<std::int32_t>& ids) {
    const auto highest = std::ranges::max_element(ids);
    if (options.vocab_size && *highest >= *options.vocab_size) {
      throw Error(fmt::format("{}: token {} is {}, outside the vocabulary of {}", path.string(),
                              begin + static_cast<std::uint64_t>(highest - ids.begin()), *highest, *options.vocab_size),
                  "the shard was made with another tokenizer, or is damaged");
    }
    report.highest_id = std::max(report.highest_id, *highest);
    if (options.end_of_text) {
      report.documents += static_cast<std::uint64_t>(std::ranges::count(ids, *options.end_of_text));
    }
    if (!options.token_lengths.empty()) {
      for (const std::int32_t id : ids) report.bytes += options.token_lengths[static_cast<std::size_t>(id)];
    }
    return true;
  });
  shard.release();
  return report;
}

void check_counts(const DataDir& dir, const char* split, const SplitReport& found, const SplitCounts& counts,
                  bool knows_lengths) {
  const auto fail = [&](const char* what, std::uint64_t expected, std::uint64_t came) {
    throw Error(fmt::format("{}: {} counts {} {} of {}, the shards hold {}", dir.path.string(), kDatasetFile, expected,
                            what, split, came),
                "the folder has been changed since it was prepared: prepare it again");
  };
  if (found.tokens() != counts.tokens) fail("tokens", counts.tokens, found.tokens());
  // Text that itself spells the end-of-text token is not encoded as it, so the counts agree exactly.
  if (dir.info->end_of_text && found.documents() != counts.documents) {
    fail("documents", counts.documents, found.documents());
  }
  if (knows_lengths && found.bytes() != counts.bytes) fail("bytes", counts.bytes, found.bytes());
}

// The first end-of-text token at or after `begin`.
std::optional<std::uint64_t> find_document(const formats::TokenShard& shard, std::uint64_t begin,
                                           std::int32_t end_of_text) {
  std::optional<std::uint64_t> place;
  for_each_block(shard, begin, [&](std::uint64_t block, const std::vector<std::int32_t>& ids) {
    const auto found = std::ranges::find(ids, end_of_text);
    if (found != ids.end()) place = block + static_cast<std::uint64_t>(found - ids.begin());
    return !place;
  });
  return place;
}

}  // namespace

std::uint64_t SplitReport::tokens() const {
  return sum_of(shards, &ShardReport::tokens);
}

std::uint64_t SplitReport::documents() const {
  return sum_of(shards, &ShardReport::documents);
}

std::uint64_t SplitReport::bytes() const {
  return sum_of(shards, &ShardReport::bytes);
}

DirReport inspect(const DataDir& dir, const InspectOptions& options, Log& log) {
  DirReport report;
  Progress progress(log, {.label = "inspect", .unit = "shards", .total = dir.train.size() + dir.val.size()});
  for (const auto& [paths, split] : {std::pair(&dir.train, &report.train), std::pair(&dir.val, &report.val)}) {
    for (const fs::path& path : *paths) {
      split->shards.push_back(inspect_shard(path, options));
      throw_if_interrupted();
      progress.update(report.train.shards.size() + report.val.shards.size());
    }
  }
  if (dir.info && options.end_of_text == dir.info->end_of_text) {
    const bool knows_lengths = !options.token_lengths.empty();
    check_counts(dir, "train", report.train, dir.info->train, knows_lengths);
    check_counts(dir, "val", report.val, dir.info->val, knows_lengths);
  }
  return report;
}

std::vector<std::vector<std::int32_t>> sample_documents(const std::vector<fs::path>& shards, std::int32_t end_of_text,
                                                        std::size_t count, std::size_t longest) {
  std::vector<std::vector<std::int32_t>> samples;
  std::optional<std::pair<std::size_t, std::uint64_t>> last;  // shard and place of the sample before
  for (std::size_t i = 0; i < count && !shards.empty(); ++i) {
    // Place i / count of the whole, with all shards taken for equally long.
    const std::size_t index = i * shards.size() / count;
    const formats::TokenShard shard = formats::TokenShard::open(shards[index]);
    const double share =
        static_cast<double>(i * shards.size()) / static_cast<double>(count) - static_cast<double>(index);
    auto begin = static_cast<std::uint64_t>(share * static_cast<double>(shard.size()));
    if (last && last->first == index) begin = std::max(begin, last->second + 1);
    const std::optional<std::uint64_t> place = find_document(shard, begin, end_of_text);
    if (!place) continue;
    last = {index, *place};
    std::vector<std::int32_t> ids(std::min<std::uint64_t>(longest, shard.size() - *place - 1));
    shard.read(*place + 1, ids);
    ids.erase(std::ranges::find(ids, end_of_text), ids.end());
    samples.push_back(std::move(ids));
  }
  return samples;
}

}  // namespace crope::data
