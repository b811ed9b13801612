// What --version prints.
#pragma once

#include <string>

namespace crope::cli {

// "crope 0.1.0, LibTorch 2.13.0 (AVX2), fused kernels: avx2": the instruction sets that LibTorch's kernels and ours use
// here. Throws UsageError if the environment asks for one that is not there (crope/ops/cpu/isa.h).
std::string version_line();

}  // namespace crope::cli
