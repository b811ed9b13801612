#include "crope/base/random.h"

#include <cmath>
#include <numbers>

#include "crope/base/content_hash.h"

namespace crope {
namespace {

constexpr std::uint64_t kGoldenGamma = 0x9E3779B97F4A7C15u;  // 2^64 / golden ratio: SplitMix64's step

// SplitMix64's output function: a bijection of 64 bits that passes BigCrush on a counter.
std::uint64_t mix(std::uint64_t z) {
  z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9u;
  z = (z ^ (z >> 27)) * 0x94D049BB133111EBu;
  return z ^ (z >> 31);
}

}  // namespace

RandomStream::RandomStream(std::uint64_t seed, std::string_view name) : key_(mix(mix(seed) ^ fnv1a(name))) {}

std::uint64_t RandomStream::bits_at(std::uint64_t index) const {
  return mix(key_ + (index + 1) * kGoldenGamma);
}

double RandomStream::uniform_at(std::uint64_t index) const {
  return static_cast<double>(bits_at(index) >> 11) * 0x1p-53;
}

double RandomStream::normal_at(std::uint64_t index) const {
  const double radius = std::sqrt(-2.0 * std::log1p(-uniform_at(2 * index)));
  return radius * std::cos(2.0 * std::numbers::pi * uniform_at(2 * index + 1));
}

std::uint64_t RandomStream::below(std::uint64_t bound) {
  const std::uint64_t unbiased = -bound % bound;  // 2^64 mod bound: values below it would come up once too often
  std::uint64_t value = bits();
  while (value < unbiased) value = bits();
  return value % bound;
}

}  // namespace crope
