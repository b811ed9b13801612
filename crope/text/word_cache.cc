#include "crope/text/word_cache.h"

#include <algorithm>

namespace crope::text {
namespace {

constexpr std::size_t kFirstEntries = 1024;

}  // namespace

WordCache::WordCache(std::size_t most_words)
    : most_words_(std::max<std::size_t>(most_words, 1)), mask_(kFirstEntries - 1), entries_(kFirstEntries) {}

WordCache::Key WordCache::long_key(std::string_view word) {
  std::uint64_t hash = word.size();
  for (std::size_t at = 0; at < word.size(); at += 8) {
    std::uint64_t bytes = 0;
    std::memcpy(&bytes, word.data() + at, std::min<std::size_t>(8, word.size() - at));
    hash = mix(hash, bytes);
  }
  // No place in long_words_ is that far out, so that the bytes are always compared.
  return {word, hash, ~std::uint64_t{0}, hash};
}

void WordCache::insert(const Key& key, std::span<const std::int32_t> ids) {
  if (key.word.size() > kLongestWord) return;
  if (words_ == most_words_) clear();
  if ((words_ + 1) * 2 > entries_.size()) grow();
  Entry entry{.low = key.low,
              .high = key.high,
              .size = static_cast<std::uint32_t>(key.word.size()),
              .count = static_cast<std::uint32_t>(ids.size()),
              .first = ids.front()};
  if (ids.size() > 1) {
    entry.first = static_cast<std::int32_t>(ids_.size());
    ids_.insert(ids_.end(), ids.begin(), ids.end());
  }
  if (key.word.size() > kInlineBytes) {
    entry.high = long_words_.size();
    long_words_.insert(long_words_.end(), key.word.begin(), key.word.end());
  }
  place(entry, key.hash);
  ++words_;
}

void WordCache::place(const Entry& entry, std::uint64_t hash) {
  std::size_t place = hash & mask_;
  while (entries_[place].size != 0) place = (place + 1) & mask_;
  entries_[place] = entry;
}

void WordCache::grow() {
  const std::vector<Entry> old = std::move(entries_);
  entries_.assign(old.size() * 2, Entry{});
  mask_ = entries_.size() - 1;
  for (const Entry& entry : old) {
    if (entry.size == 0) continue;
    place(entry, entry.size > kInlineBytes ? entry.low : mix(entry.low ^ entry.size, entry.high));
  }
}

void WordCache::clear() {
  std::fill(entries_.begin(), entries_.end(), Entry{});
  ids_.clear();
  long_words_.clear();
  words_ = 0;
}

}  // namespace crope::text
