// A shuffled order of 0 … n-1 that is computed, not stored: whatever n is, it takes no memory.
#pragma once

#include <cstdint>

namespace crope::data {

// A Feistel network on the smallest even number of bits that hold n, walked until the value is below n again: a
// bijection of [0, n), the same on every machine. Different seeds and epochs give unrelated orders.
class RowPermutation {
 public:
  // REQUIRES: size > 0.
  RowPermutation(std::uint64_t size, std::uint64_t seed, std::uint64_t epoch);

  // REQUIRES: index < size.
  std::uint64_t operator()(std::uint64_t index) const;

 private:
  static constexpr int kRounds = 6;

  std::uint64_t encrypt(std::uint64_t value) const;

  std::uint64_t size_;
  int half_bits_;
  std::uint64_t keys_[kRounds];
};

}  // namespace crope::data
