#include "crope/text/word_index.h"

#include <utility>

namespace crope::text {
namespace {

constexpr std::size_t kFirstEntries = 1024;

}  // namespace

WordIndex::WordIndex() : mask_(kFirstEntries - 1), entries_(kFirstEntries) {}

void WordIndex::insert(const WordKey& key, std::uint32_t number) {
  if ((words_ + 1) * 2 > entries_.size()) grow();
  Entry entry{.low = key.low, .high = key.high, .size = key.word.size(), .number = number};
  if (key.is_long()) {
    entry.high = long_words_.size();
    long_words_.insert(long_words_.end(), key.word.begin(), key.word.end());
  }
  place(entry, key.hash);
  ++words_;
}

void WordIndex::place(const Entry& entry, std::uint64_t hash) {
  std::size_t place = hash & mask_;
  while (entries_[place].size != 0) place = (place + 1) & mask_;
  entries_[place] = entry;
}

void WordIndex::grow() {
  const std::vector<Entry> old = std::move(entries_);
  entries_.assign(old.size() * 2, Entry{});
  mask_ = entries_.size() - 1;
  for (const Entry& entry : old) {
    if (entry.size == 0) continue;
    place(entry, entry.size > WordKey::kInlineBytes ? entry.low : WordKey::mix(entry.low ^ entry.size, entry.high));
  }
}

}  // namespace crope::text
