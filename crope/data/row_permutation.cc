#include "crope/data/row_permutation.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <utility>

#include "crope/base/random.h"

namespace crope::data {

RowPermutation::RowPermutation(std::uint64_t size, std::uint64_t seed, std::uint64_t epoch)
    : size_(size), half_bits_(std::max(1, (static_cast<int>(std::bit_width(size - 1)) + 1) / 2)) {
  RandomStream stream(seed, fmt::format("row order of epoch {}", epoch));
  for (std::uint64_t& key : keys_) key = stream.bits();
}

std::uint64_t RowPermutation::operator()(std::uint64_t index) const {
  // The network permutes fewer than 4n values, so that the walk takes less than four steps on average.
  do {
    index = encrypt(index);
  } while (index >= size_);
  return index;
}

std::uint64_t RowPermutation::encrypt(std::uint64_t value) const {
  const std::uint64_t mask = (std::uint64_t{1} << half_bits_) - 1;
  std::uint64_t left = value >> half_bits_, right = value & mask;
  for (const std::uint64_t key : keys_) {
    std::uint64_t mixed = (right + key) * 0x9E3779B97F4A7C15u;
    mixed = (mixed ^ (mixed >> 32)) * 0xD6E8FEB86659FD93u;
    left = std::exchange(right, left ^ ((mixed >> 32) & mask));
  }
  return left << half_bits_ | right;
}

}  // namespace crope::data
