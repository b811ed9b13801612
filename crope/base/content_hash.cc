#include "crope/base/content_hash.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstring>

namespace crope {
namespace {

constexpr std::uint64_t kMultiplier = 0x9E3779B97F4A7C15;
constexpr std::size_t kLanes = 4;  // independent chains, so that their multiplications overlap
constexpr std::size_t kStripe = kLanes * sizeof(std::uint64_t);
constexpr std::size_t kBlock = 16 << 20;  // a multiple of kStripe

std::uint64_t mix(std::uint64_t state, std::uint64_t word) {
  const std::uint64_t product = (state ^ word) * kMultiplier;
  return (product ^ (product >> 32)) * kMultiplier;  // one-to-one in either argument, and high bits reach the low ones
}

void add_stripe(std::array<std::uint64_t, kLanes>& lanes, const std::byte* stripe) {
  std::array<std::uint64_t, kLanes> words;
  std::memcpy(words.data(), stripe, kStripe);
  for (std::size_t i = 0; i < kLanes; ++i) lanes[i] = mix(lanes[i], words[i]);
}

}  // namespace

std::uint64_t content_hash(std::span<const std::byte> bytes, std::uint64_t start,
                           const std::function<void()>& between) {
  std::array<std::uint64_t, kLanes> lanes;
  for (std::size_t i = 0; i < kLanes; ++i) lanes[i] = mix(start, i + 1);
  const std::size_t size = bytes.size();
  while (bytes.size() >= kStripe) {
    if (between) between();
    const std::size_t end = bytes.size() - std::min(bytes.size(), kBlock);
    for (; bytes.size() >= end + kStripe; bytes = bytes.subspan(kStripe)) add_stripe(lanes, bytes.data());
  }
  std::array<std::byte, kStripe> tail{};
  if (!bytes.empty()) std::memcpy(tail.data(), bytes.data(), bytes.size());
  add_stripe(lanes, tail.data());
  std::uint64_t hash = mix(start, size);  // the length tells a tail of zeros from no tail
  for (const std::uint64_t lane : lanes) hash = mix(hash, lane);
  return hash ^ (hash >> 32);
}

std::string hash_text(std::uint64_t hash) {
  return fmt::format("{:016x}", hash);
}

}  // namespace crope
