// The version of the program, and how --version prints it.
#pragma once

#include <string>

#include "crope/base/json.h"

namespace crope::cli {

// "0.2.0"
std::string version_number();

// "crope 0.2.0, LibTorch 2.13.0 (AVX2), fused kernels: avx2": the instruction sets that LibTorch's kernels and ours use
// here. Throws UsageError if the environment names one that this machine lacks (crope/ops/device.h).
std::string version_line();

// A hash of the program's contents in hexadecimal: equal for copies of one build. Empty where the linker left none.
std::string build_id();

// The version and the build as fields, with the command line of this process and the time: what a run records of its
// program.
Json program_record();

}  // namespace crope::cli
