#include "crope/text/bpe_merger.h"

#include <algorithm>
#include <bit>
#include <functional>
#include <iterator>
#include <queue>

namespace crope::text {
namespace {

// Up to this many bytes a scan over all neighbours is faster than a heap.
constexpr std::size_t kShortWord = 64;

// Takes the place of a byte that has no token: it merges with nothing.
constexpr std::int32_t kNoByte = -2;

}  // namespace

BpeMerger::BpeMerger(const Vocabulary& vocabulary) {
  const auto& tokens = vocabulary.tokens;
  byte_ids_.fill(kNoByte);
  for (std::size_t id = 0; id < tokens.size(); ++id) {
    if (tokens[id].size() == 1) byte_ids_[static_cast<std::uint8_t>(tokens[id][0])] = static_cast<std::int32_t>(id);
  }
  slots_.resize(std::bit_ceil(std::max<std::size_t>(2, vocabulary.merges.size() * 2)));
  shift_ = 64 - std::countr_zero(slots_.size());
  for (std::size_t rank = 0; rank < vocabulary.merges.size(); ++rank) {
    const auto& [left, right, result] = vocabulary.merges[rank];
    std::size_t place = first_place(left, right);
    while (slots_[place].rank != kNoRank) place = (place + 1) & (slots_.size() - 1);
    slots_[place] = {left, right, static_cast<std::uint32_t>(rank)};
    results_.push_back(result);
  }
  byte_ranks_.reserve(256 * 256);
  for (const std::int32_t left : byte_ids_) {
    for (const std::int32_t right : byte_ids_) byte_ranks_.push_back(rank_of(left, right));
  }
}

std::size_t BpeMerger::first_place(std::int32_t left, std::int32_t right) const {
  constexpr std::uint64_t kGolden = 0x9E3779B97F4A7C15;
  const std::uint64_t pair =
      static_cast<std::uint64_t>(static_cast<std::uint32_t>(left)) << 32 | static_cast<std::uint32_t>(right);
  return (pair ^ pair >> 29) * kGolden >> shift_;
}

std::uint32_t BpeMerger::rank_of(std::int32_t left, std::int32_t right) const {
  std::size_t place = first_place(left, right);
  while (true) {
    const Slot& slot = slots_[place];
    if ((slot.left == left && slot.right == right) || slot.rank == kNoRank) return slot.rank;
    place = (place + 1) & (slots_.size() - 1);
  }
}

void BpeMerger::append_word(std::string_view word, std::vector<std::int32_t>& ids) const {
  if (word.size() <= kShortWord) {
    append_short_word(word, ids);
  } else {
    append_long_word(word, ids);
  }
}

void BpeMerger::append_short_word(std::string_view word, std::vector<std::int32_t>& ids) const {
  std::array<std::int32_t, kShortWord> parts;
  std::array<std::uint32_t, kShortWord> ranks;  // ranks[i] is that of parts[i] and parts[i + 1]
  const auto byte = [word](std::size_t i) { return static_cast<std::uint8_t>(word[i]); };
  std::size_t count = word.size();
  for (std::size_t i = 0; i < count; ++i) parts[i] = byte_ids_[byte(i)];
  for (std::size_t i = 0; i + 1 < count; ++i) ranks[i] = byte_ranks_[256 * byte(i) + byte(i + 1)];
  while (count > 1) {
    std::size_t best = 0;
    for (std::size_t i = 1; i + 1 < count; ++i) {
      if (ranks[i] < ranks[best]) best = i;
    }
    if (ranks[best] == kNoRank) break;
    parts[best] = results_[ranks[best]];
    std::copy(parts.begin() + best + 2, parts.begin() + count, parts.begin() + best + 1);
    if (best + 2 < count) std::copy(ranks.begin() + best + 2, ranks.begin() + count - 1, ranks.begin() + best + 1);
    --count;
    if (best > 0) ranks[best - 1] = rank_of(parts[best - 1], parts[best]);
    if (best + 1 < count) ranks[best] = rank_of(parts[best], parts[best + 1]);
  }
  std::copy_if(parts.begin(), parts.begin() + count, std::back_inserter(ids), [](auto id) { return id != kNoByte; });
}

void BpeMerger::append_long_word(std::string_view word, std::vector<std::int32_t>& ids) const {
  constexpr std::int32_t kGone = -1;
  const auto length = static_cast<std::int64_t>(word.size());
  std::vector<std::int32_t> parts(word.size());
  std::vector<std::int64_t> previous(word.size()), next(word.size());
  struct Candidate {
    std::uint32_t rank;
    std::int64_t place;
    auto operator<=>(const Candidate&) const = default;
  };
  std::priority_queue<Candidate, std::vector<Candidate>, std::greater<>> queue;
  const auto offer = [&](std::int64_t left) {
    const std::uint32_t rank = rank_of(parts[left], parts[next[left]]);
    if (rank != kNoRank) queue.push({rank, left});
  };
  for (std::int64_t i = 0; i < length; ++i) {
    parts[i] = byte_ids_[static_cast<std::uint8_t>(word[i])];
    previous[i] = i - 1;
    next[i] = i + 1;
  }
  for (std::int64_t i = 0; i + 1 < length; ++i) offer(i);
  while (!queue.empty()) {
    const auto [rank, left] = queue.top();
    queue.pop();
    // A candidate whose sides have merged with others in the meantime is stale.
    if (parts[left] == kGone || next[left] == length) continue;
    const std::int64_t right = next[left];
    if (rank_of(parts[left], parts[right]) != rank) continue;
    parts[left] = results_[rank];
    parts[right] = kGone;
    next[left] = next[right];
    if (next[left] < length) {
      previous[next[left]] = left;
      offer(left);
    }
    if (previous[left] >= 0) offer(previous[left]);
  }
  for (std::int64_t i = 0; i < length; i = next[i]) {
    if (parts[i] != kNoByte) ids.push_back(parts[i]);
  }
}

}  // namespace crope::text
