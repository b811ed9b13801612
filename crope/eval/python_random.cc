#include "crope/eval/python_random.h"

#include <algorithm>
#include <bit>
#include <numeric>

namespace crope::eval {
namespace {

constexpr std::size_t kShift = 397;
constexpr std::uint32_t kUpperBit = 0x80000000;
constexpr std::uint32_t kTwist = 0x9908B0DF;

// Up to how many elements the whole population is copied; above, drawn places are remembered (random.sample).
std::size_t pool_limit(std::size_t count) {
  std::size_t limit = 21;
  if (count > 5) {
    std::size_t power = 1;
    while (power < 3 * count) power *= 4;  // 4 ** ceil(log(3 count, 4))
    limit += power;
  }
  return limit;
}

}  // namespace

// init_by_array of a key of one word, as CPython seeds from a small integer.
PythonRandom::PythonRandom(std::uint32_t seed) {
  state_[0] = 19650218;
  for (std::size_t i = 1; i < kWords; ++i) {
    state_[i] = 1812433253 * (state_[i - 1] ^ (state_[i - 1] >> 30)) + static_cast<std::uint32_t>(i);
  }
  std::size_t i = 1;
  const auto advance = [&] {
    if (++i < kWords) return;
    state_[0] = state_[kWords - 1];
    i = 1;
  };
  for (std::size_t k = 0; k < kWords; ++k) {
    state_[i] = (state_[i] ^ ((state_[i - 1] ^ (state_[i - 1] >> 30)) * 1664525)) + seed;
    advance();
  }
  for (std::size_t k = 1; k < kWords; ++k) {
    state_[i] = (state_[i] ^ ((state_[i - 1] ^ (state_[i - 1] >> 30)) * 1566083941)) - static_cast<std::uint32_t>(i);
    advance();
  }
  state_[0] = kUpperBit;
}

std::uint32_t PythonRandom::next() {
  if (used_ == kWords) {
    for (std::size_t i = 0; i < kWords; ++i) {
      const std::uint32_t y = (state_[i] & kUpperBit) | (state_[(i + 1) % kWords] & ~kUpperBit);
      state_[i] = state_[(i + kShift) % kWords] ^ (y >> 1) ^ ((y & 1) * kTwist);
    }
    used_ = 0;
  }
  std::uint32_t y = state_[used_++];
  y ^= y >> 11;
  y ^= (y << 7) & 0x9D2C5680;
  y ^= (y << 15) & 0xEFC60000;
  return y ^ (y >> 18);
}

// Draws as many bits as `limit` has until they are below it.
std::size_t PythonRandom::below(std::size_t limit) {
  const int bits = std::bit_width(limit);
  while (true) {
    const std::size_t drawn = next() >> (32 - bits);
    if (drawn < limit) return drawn;
  }
}

std::vector<std::size_t> PythonRandom::sample(std::size_t population, std::size_t count) {
  std::vector<std::size_t> result;
  if (population <= pool_limit(count)) {
    std::vector<std::size_t> pool(population);
    std::iota(pool.begin(), pool.end(), std::size_t{0});
    for (std::size_t i = 0; i < count; ++i) {
      const std::size_t at = below(population - i);
      result.push_back(pool[at]);
      pool[at] = pool[population - i - 1];
    }
    return result;
  }
  while (result.size() < count) {
    const std::size_t at = below(population);
    if (std::find(result.begin(), result.end(), at) == result.end()) result.push_back(at);
  }
  return result;
}

}  // namespace crope::eval
