// How much memory this process uses.
#pragma once

#include <cstdint>
#include <string>

namespace crope {

// Bytes in physical memory now, and at most so far; 0 where the system does not tell.
std::uint64_t resident_memory();
std::uint64_t peak_memory();

// "950 B", "12.3 MB", "1.20 GB".
std::string format_bytes(double bytes);

}  // namespace crope
