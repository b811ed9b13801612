// How much memory this process uses, and how much more it may.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace crope {

// Bytes in physical memory now, and at most so far; 0 where the system does not tell.
std::uint64_t resident_memory();
std::uint64_t peak_memory();

// Bytes that this process may still take without swapping: what the system has, cut down by its container's limit;
// the largest number where the system does not tell.
std::uint64_t free_memory();

// Throws Error "<who> needs about 1.6 TB for <what>; 22 GB are free" unless `bytes` are.
void require_memory(double bytes, std::string_view who, std::string_view what);

// "950 B", "12.3 MB", "1.20 GB", "1.60 TB".
std::string format_bytes(double bytes);

}  // namespace crope
