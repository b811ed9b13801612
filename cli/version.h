// What --version prints.
#pragma once

#include <string>

namespace crope::cli {

// "crope 0.1.0, LibTorch 2.13.0, AVX2": the last is the instruction set that LibTorch's kernels use here.
std::string version_line();

}  // namespace crope::cli
