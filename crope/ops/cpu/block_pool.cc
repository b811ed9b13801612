#include "crope/ops/cpu/block_pool.h"

#include <sys/mman.h>

#include <algorithm>
#include <cstdint>
#include <iterator>
#include <new>

#include "crope/base/rounding.h"

namespace crope::ops::cpu {
namespace {

constexpr std::size_t kHugePage = std::size_t{2} << 20;
constexpr std::size_t kSegment = std::size_t{64} << 20;
// Blocks start at multiples of this: pages of their own, and no tiny remainders.
constexpr std::size_t kGranule = std::size_t{16} << 10;

// Aligned to a huge page; asks for huge pages, and goes on without where the kernel has none to give.
std::byte* map_segment(std::size_t bytes) {
  const std::size_t wide = bytes + kHugePage;
  void* mapped = mmap(nullptr, wide, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (mapped == MAP_FAILED) throw std::bad_alloc();
  const auto start = reinterpret_cast<std::uintptr_t>(mapped);
  const std::uintptr_t aligned = round_up(start, kHugePage);
  if (aligned > start) munmap(mapped, aligned - start);
  if (start + wide > aligned + bytes) munmap(reinterpret_cast<void*>(aligned + bytes), start + wide - aligned - bytes);
  madvise(reinterpret_cast<void*>(aligned), bytes, MADV_HUGEPAGE);
  return reinterpret_cast<std::byte*>(aligned);
}

}  // namespace

BlockPool::~BlockPool() {
  for (const auto& [start, bytes] : segments_) munmap(start, bytes);
}

BlockPool::Blocks::iterator BlockPool::add_segment(std::size_t bytes) {
  const std::size_t size = std::max(kSegment, round_up(bytes, kHugePage));
  std::byte* start = map_segment(size);
  segments_.emplace(start, size);
  stats_.reserved += size;
  const auto block = blocks_.emplace(start, Block{size, start, true}).first;
  mark_free(block);
  return block;
}

void BlockPool::mark_free(Blocks::iterator block) {
  block->second.free = true;
  free_.emplace(block->second.size, block->first);
}

void BlockPool::mark_used(Blocks::iterator block) {
  block->second.free = false;
  free_.erase({block->second.size, block->first});
}

void* BlockPool::allocate(std::size_t bytes) {
  if (bytes > SIZE_MAX / 2) throw std::bad_alloc();
  const std::size_t size = round_up(std::max<std::size_t>(bytes, 1), kGranule);
  const std::scoped_lock lock(mutex_);
  const auto fit = free_.lower_bound({size, nullptr});
  const auto block = fit == free_.end() ? add_segment(size) : blocks_.find(fit->second);
  mark_used(block);
  if (const std::size_t rest = block->second.size - size; rest > 0) {
    block->second.size = size;
    mark_free(blocks_.emplace(block->first + size, Block{rest, block->second.segment, true}).first);
  }
  stats_.in_use += size;
  stats_.peak_in_use = std::max(stats_.peak_in_use, stats_.in_use);
  return block->first;
}

bool BlockPool::release(void* pointer) {
  const std::scoped_lock lock(mutex_);
  auto block = blocks_.find(static_cast<std::byte*>(pointer));
  if (block == blocks_.end() || block->second.free) return false;
  stats_.in_use -= block->second.size;
  const auto joins = [](const Block& a, const Block& b) { return b.free && a.segment == b.segment; };
  if (const auto next = std::next(block); next != blocks_.end() && joins(block->second, next->second)) {
    mark_used(next);
    block->second.size += next->second.size;
    blocks_.erase(next);
  }
  if (block != blocks_.begin()) {
    if (const auto previous = std::prev(block); joins(block->second, previous->second)) {
      mark_used(previous);
      previous->second.size += block->second.size;
      blocks_.erase(block);
      block = previous;
    }
  }
  mark_free(block);
  return true;
}

void BlockPool::restart_peak() {
  const std::scoped_lock lock(mutex_);
  stats_.peak_in_use = stats_.in_use;
}

BlockPoolStats BlockPool::stats() const {
  const std::scoped_lock lock(mutex_);
  return stats_;
}

}  // namespace crope::ops::cpu
