// A 64-bit hash of bytes: the same on every machine, as fast as memory. It finds damage and mistakes, not malice.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

namespace crope {

// The hash of several pieces: that of each is the `start` of the next.
std::uint64_t content_hash(std::span<const std::byte> bytes, std::uint64_t start = 0);

// Sixteen hexadecimal digits.
std::string hash_text(std::uint64_t hash);

}  // namespace crope
