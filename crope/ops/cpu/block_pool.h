// Large blocks of memory that are kept and reused instead of going back to the system.
//
// A training step makes and drops the same large tensors again and again. From malloc, each of them is fresh pages: the
// kernel clears and maps them at every step, four kilobytes at a time. Here they are cut from segments in huge pages,
// which also spares the products most of their misses in the address cache.
#pragma once

#include <cstddef>
#include <map>
#include <mutex>
#include <set>
#include <unordered_map>
#include <utility>

namespace crope::ops::cpu {

struct BlockPoolStats {
  std::size_t in_use = 0;       // bytes of blocks handed out
  std::size_t peak_in_use = 0;  // the most there ever were
  std::size_t reserved = 0;     // bytes taken from the system
};

// Thread-safe. Best fit; neighbours that are free become one again.
class BlockPool {
 public:
  BlockPool() = default;
  BlockPool(const BlockPool&) = delete;
  BlockPool& operator=(const BlockPool&) = delete;
  ~BlockPool();

  // At least `bytes`, aligned to 64. Throws std::bad_alloc when the system has no more.
  void* allocate(std::size_t bytes);

  // Takes a block back; false if it is not from here.
  bool release(void* block);

  BlockPoolStats stats() const;

  // From now on peak_in_use counts from what is in use now.
  void restart_peak();

 private:
  struct Block {
    std::size_t size;
    std::byte* segment;  // blocks of different segments are never joined
    bool free;
  };
  using Blocks = std::map<std::byte*, Block>;

  Blocks::iterator add_segment(std::size_t bytes);
  void mark_free(Blocks::iterator block);
  void mark_used(Blocks::iterator block);

  mutable std::mutex mutex_;
  Blocks blocks_;                                      // all of them, by address
  std::set<std::pair<std::size_t, std::byte*>> free_;  // by size, then address
  std::unordered_map<std::byte*, std::size_t> segments_;
  BlockPoolStats stats_;
};

}  // namespace crope::ops::cpu
