#include "crope/text/word_cache.h"

#include <sys/mman.h>

#include <algorithm>
#include <bit>
#include <new>

namespace crope::text {
namespace {

// Room in the side tables for each word, several times what texts of any language need on average; and in all, so that
// one word always fits.
constexpr std::size_t kManyIds = 8;
constexpr std::size_t kLongBytes = 32;

}  // namespace

WordCache::Entries::Entries(std::size_t count) : bytes_(count * sizeof(Entry)) {
  void* const memory = ::mmap(nullptr, bytes_, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED) throw std::bad_alloc();
  // Words lie anywhere in the table: with small pages the processor would look up an address for nearly each of them.
  // A hint, which a system may ignore.
  ::madvise(memory, bytes_, MADV_HUGEPAGE);
  first_ = static_cast<Entry*>(memory);
}

WordCache::Entries::~Entries() {
  ::munmap(first_, bytes_);
}

WordCache::WordCache(std::size_t most_words)
    : most_words_(most_words),
      mask_(std::bit_ceil(most_words * 2) - 1),
      entries_(mask_ + 1),
      many_ids_(new std::int32_t[most_words * kManyIds + kLongestWord]),
      long_words_(new char[most_words * kLongBytes + kLongestWord]) {}

bool WordCache::insert(const WordKey& key, std::span<const std::int32_t> ids) {
  if (key.word.size() > kLongestWord) return true;
  const std::lock_guard lock(mutex_);
  if (!find(key).empty()) return true;
  const std::size_t far_ids = ids.size() > kInlineIds ? ids.size() : 0;
  const std::size_t far_bytes = key.is_long() ? key.word.size() : 0;
  if (words_ == most_words_ || many_ids_used_ + far_ids > most_words_ * kManyIds + kLongestWord ||
      long_words_used_ + far_bytes > most_words_ * kLongBytes + kLongestWord) {
    return false;
  }
  std::size_t place = key.hash & mask_;
  while (entries_[place].size != 0) place = (place + 1) & mask_;
  Entry& entry = entries_[place];
  entry.low = key.low;
  entry.high = key.high;
  entry.count = static_cast<std::uint16_t>(ids.size());
  if (far_ids > 0) {
    entry.ids[0] = static_cast<std::int32_t>(many_ids_used_);
    std::ranges::copy(ids, many_ids_.get() + many_ids_used_);
  } else {
    std::ranges::copy(ids, entry.ids);
  }
  if (far_bytes > 0) {
    entry.high = long_words_used_;
    std::ranges::copy(key.word, long_words_.get() + long_words_used_);
  }
  std::atomic_ref(entry.size).store(static_cast<std::uint16_t>(key.word.size()), std::memory_order_release);
  ++words_;
  many_ids_used_ += far_ids;
  long_words_used_ += far_bytes;
  return true;
}

}  // namespace crope::text
