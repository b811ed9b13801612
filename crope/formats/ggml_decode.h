// Blocks of quantised numbers as ggml stores them, widened to fp32.
//
//   Q8_0                d q, q signed bytes
//   Q4_0, Q5_0          d (q - 8), d (q - 16), q of 4 or 5 bits
//   Q4_1, Q5_1          d q + m
//   Q4_K, Q5_K          eight groups of 32: d s q - dmin t, s and t of 6 bits for each group
//   Q6_K                sixteen groups of 16: d s (q - 32), s a signed byte for each group
//
// d, m and dmin are 16-bit floats.
#pragma once

#include <cstddef>
#include <span>
#include <string_view>

#include "crope/formats/gguf.h"

namespace crope::formats {

// The values of `bytes`, whole blocks of `type`, into `values`. Throws Error, starting with `origin` and naming the
// block, if one of its scales is not finite. REQUIRES: `values` has as many elements as the blocks.
void decode_ggml_blocks(GgmlType type, std::span<const std::byte> bytes, std::span<float> values,
                        std::string_view origin);

}  // namespace crope::formats
