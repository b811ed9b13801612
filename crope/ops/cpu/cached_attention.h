// One item of cached_attention (kernels.h): a few queries of one head, over keys and values in several pieces.
#pragma once

#include <cstdint>
#include <span>

#include "crope/ops/kernels.h"

namespace crope::ops::cpu {

// Keys [length, K] and values [length, Kv], contiguous rows.
struct KeyValuePart {
  const float* keys;
  const float* values;
  std::int64_t length;
};

struct AttentionTile {
  const float* queries;  // [rows, K], turned to their positions
  std::int64_t query_stride;
  std::int64_t rows;     // at most kMostTileRows
  std::int64_t visible;  // keys that the first row sees; each further row sees one more
  std::int64_t K;
  std::int64_t Kv;
  float scale;  // of the scores
  float* out;   // of a row: Kv/2 values here, and the others at out + out_half
  std::int64_t out_half;
  std::int64_t out_stride;  // between rows
};

// `scores` is room for rows * (visible + rows - 1) floats.
// REQUIRES: the parts have at least visible + rows - 1 keys together.
void attend(const AttentionTile& tile, std::span<const KeyValuePart> parts, float* scores);

}  // namespace crope::ops::cpu
