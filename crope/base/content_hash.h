// A 64-bit hash of bytes: the same on every machine, as fast as memory. It finds damage and mistakes, not malice.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <string_view>

namespace crope {

// To hash several pieces, pass the hash of each as `start` for the next. `between` is called before every 16 MB; it may
// throw to end the work.
std::uint64_t content_hash(std::span<const std::byte> bytes, std::uint64_t start = 0,
                           const std::function<void()>& between = {});

// FNV-1a, byte by byte: the hash of names in random streams and of vocabularies, whose values are on disk.
constexpr std::uint64_t fnv1a(std::string_view text, std::uint64_t start = 0xCBF29CE484222325u) {
  for (const char c : text) start = (start ^ static_cast<unsigned char>(c)) * 0x100000001B3u;
  return start;
}

// Sixteen hexadecimal digits.
std::string hash_text(std::uint64_t hash);

}  // namespace crope
