// The instruction set of the fused kernels, and whether they are used.
//
// Kernels of this folder are compiled once for each instruction set (Highway) and chosen when they are first called:
// the best one of the machine, or the one that CROPE_ISA names. CROPE_FUSED=0 switches all of them off; operations then
// run on plain ATen calls, as they do on other devices. Both are read once, when a kernel is first wanted.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace crope::ops::cpu {

// Whether fused kernels are used. Every operation that has one checks this.
// Throws UsageError if CROPE_FUSED is neither 0 nor 1, or if CROPE_ISA names no set of this machine.
bool fused_kernels_enabled();

// The set in use: "avx2", "avx512", "neon", …, "portable". Throws as above.
std::string instruction_set();

// The sets that this program has kernels for and this machine can run, best first; every machine has the last.
std::vector<std::string> available_instruction_sets();

// Uses one set from now on, in all threads. For tests, and for CROPE_ISA.
// Throws UsageError with the list of sets unless it is one of them.
// REQUIRES: no kernel is running.
void use_instruction_set(std::string_view name);

}  // namespace crope::ops::cpu
