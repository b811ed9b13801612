#include "crope/ops/cpu/cached_attention.h"

#include <algorithm>
#include <vector>

#include "crope/base/parallel.h"
#include "crope/ops/cpu/kernels.h"
#include "crope/ops/cpu/scratch.h"
#include "crope/ops/cpu/softmax_rows.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "crope/ops/cpu/cached_attention.cc"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include "crope/ops/cpu/dot_block-inl.h"

HWY_BEFORE_NAMESPACE();
namespace crope::ops::cpu::HWY_NAMESPACE {

// scores[r * stride + i] = q[r] . k[i] for kQueries rows from `row` on and `count` keys, at most a block.
template <int kQueries>
HWY_INLINE void score_block(const AttentionTile& tile, const float* const (&keys)[kBlockRows], std::int64_t count,
                            std::int64_t row, float* scores, std::int64_t stride) {
  const float* queries[kQueries];
  for (int j = 0; j < kQueries; ++j) queries[j] = tile.queries + (row + j) * tile.query_stride;
  float sums[kQueries][kBlockRows];
  dot_block<kQueries>(keys, queries, tile.K, NothingAhead{}, sums);
  for (int j = 0; j < kQueries; ++j) {
    float* out = scores + (row + j) * stride;
    if (count == kBlockRows) {
      for (int i = 0; i < kBlockRows; ++i) out[i] = sums[j][i];
    } else {
      for (std::int64_t i = 0; i < count; ++i) out[i] = sums[j][i];
    }
  }
}

HWY_INLINE void score_keys(const AttentionTile& tile, const float* first, std::int64_t count, float* scores,
                           std::int64_t stride) {
  const float* keys[kBlockRows];
  for (std::int64_t i = 0; i < kBlockRows; ++i) keys[i] = first + (i < count ? i : count - 1) * tile.K;
  for (std::int64_t row = 0; row < tile.rows;) {
    const std::int64_t queries = block_columns(tile.rows - row);
    if (queries == 3) {
      score_block<3>(tile, keys, count, row, scores, stride);
    } else if (queries == 2) {
      score_block<2>(tile, keys, count, row, scores, stride);
    } else {
      score_block<1>(tile, keys, count, row, scores, stride);
    }
    row += queries;
  }
}

// Where column `c` of a row of the output stands.
HWY_INLINE float* output_of(const AttentionTile& tile, std::int64_t row, std::int64_t c) {
  return tile.out + row * tile.out_stride + (c < tile.Kv / 2 ? c : tile.out_half + c - tile.Kv / 2);
}

// kRows rows and kVectors vectors of columns from `column` on, summed over all values in registers.
template <int kRows, int kVectors>
HWY_INLINE void sum_values(const AttentionTile& tile, std::span<const KeyValuePart> parts, std::int64_t end,
                           const float* weights, std::int64_t stride, std::int64_t row, std::int64_t column) {
  const Tag d;
  const auto lanes = static_cast<std::int64_t>(hn::Lanes(d));
  Vector sums[kRows][kVectors];
#pragma GCC unroll 16
  for (int i = 0; i < kRows; ++i) {
#pragma GCC unroll 16
    for (int j = 0; j < kVectors; ++j) sums[i][j] = hn::Zero(d);
  }
  std::int64_t t = 0;
  for (const KeyValuePart& part : parts) {
    const float* values = part.values + column;
    for (std::int64_t i = 0; i < part.length && t < end; ++i, ++t, values += tile.Kv) {
      Vector row_values[kVectors];
#pragma GCC unroll 16
      for (int j = 0; j < kVectors; ++j) row_values[j] = hn::LoadU(d, values + j * lanes);
#pragma GCC unroll 16
      for (int r = 0; r < kRows; ++r) {
        const Vector weight = hn::Set(d, weights[(row + r) * stride + t]);
#pragma GCC unroll 16
        for (int j = 0; j < kVectors; ++j) sums[r][j] = hn::MulAdd(weight, row_values[j], sums[r][j]);
      }
    }
  }
  for (int r = 0; r < kRows; ++r) {
    for (int j = 0; j < kVectors; ++j) {
      const std::int64_t c = column + j * lanes;
      const Vector result = sums[r][j];
      if (c + lanes <= tile.Kv / 2 || c >= tile.Kv / 2) {
        hn::StoreU(result, d, output_of(tile, row + r, c));
      } else {
        HWY_ALIGN float lane_values[HWY_MAX_BYTES / sizeof(float)];
        hn::Store(result, d, lane_values);
        for (std::int64_t lane = 0; lane < lanes; ++lane) *output_of(tile, row + r, c + lane) = lane_values[lane];
      }
    }
  }
}

// All columns of kRows rows.
template <int kRows, int kVectors>
HWY_INLINE void sum_rows(const AttentionTile& tile, std::span<const KeyValuePart> parts, std::int64_t end,
                         const float* weights, std::int64_t stride, std::int64_t row) {
  const auto lanes = static_cast<std::int64_t>(hn::Lanes(Tag()));
  std::int64_t column = 0;
  for (; column + kVectors * lanes <= tile.Kv; column += kVectors * lanes) {
    sum_values<kRows, kVectors>(tile, parts, end, weights, stride, row, column);
  }
  for (; column + lanes <= tile.Kv; column += lanes) {
    sum_values<kRows, 1>(tile, parts, end, weights, stride, row, column);
  }
  for (; column < tile.Kv; ++column) {
    for (int r = 0; r < kRows; ++r) {
      float sum = 0;
      std::int64_t t = 0;
      for (const KeyValuePart& part : parts) {
        for (std::int64_t i = 0; i < part.length && t < end; ++i, ++t) {
          sum += weights[(row + r) * stride + t] * part.values[i * tile.Kv + column];
        }
      }
      *output_of(tile, row + r, column) = sum;
    }
  }
}

// `end`: keys that the last row sees.
void Score(const AttentionTile& tile, std::span<const KeyValuePart> parts, std::int64_t end, float* scores) {
  std::int64_t t = 0;
  for (const KeyValuePart& part : parts) {
    const std::int64_t length = part.length < end - t ? part.length : end - t;
    for (std::int64_t i = 0; i < length; i += kBlockRows) {
      const std::int64_t count = length - i < kBlockRows ? length - i : kBlockRows;
      score_keys(tile, part.keys + i * tile.K, count, scores + t + i, end);
    }
    t += length;
  }
}

void SumValues(const AttentionTile& tile, std::span<const KeyValuePart> parts, std::int64_t end, const float* weights) {
  std::int64_t row = 0;
  for (; row + 4 <= tile.rows; row += 4) sum_rows<4, 2>(tile, parts, end, weights, end, row);
  for (; row < tile.rows; ++row) sum_rows<1, 8>(tile, parts, end, weights, end, row);
}

}  // namespace crope::ops::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace crope::ops::cpu {

HWY_EXPORT(Score);
HWY_EXPORT(SumValues);

void attend(const AttentionTile& tile, std::span<const KeyValuePart> parts, float* scores) {
  const std::int64_t end = tile.visible + tile.rows - 1;
  HWY_DYNAMIC_DISPATCH(Score)(tile, parts, end, scores);
  attention_softmax({.rows = tile.rows,
                     .columns = end,
                     .stride = end,
                     .first = tile.visible - 1,
                     .scale = tile.scale,
                     .scores = scores,
                     .log_sums = nullptr});
  HWY_DYNAMIC_DISPATCH(SumValues)(tile, parts, end, scores);
}

void cached_attention(const CachedAttention& call) {
  std::int64_t longest = 0;
  for (const QueryTile& tile : call.tiles) longest = std::max(longest, tile.visible + tile.count - 1);
  const std::int64_t scores_floats = kMostTileRows * longest;
  const Scratch scores(thread_count() * scores_floats);
  const std::int64_t H = call.H, K = call.queries.columns / H, Kv = call.out.columns / H;
  parallel_items(static_cast<std::int64_t>(call.tiles.size()) * H, [&](std::int64_t item, std::int64_t worker) {
    const QueryTile& tile = call.tiles[static_cast<std::size_t>(item / H)];
    const std::int64_t h = item % H, g = h / (H / call.G);
    thread_local std::vector<KeyValuePart> parts;  // kept: there is an item for every head of every layer
    parts.clear();
    for (const auto& [keys, values, room] : tile.parts)
      parts.push_back({keys.row(g * room), values.row(g * room), keys.rows});
    attend({.queries = call.queries.row(tile.row) + h * K,
            .query_stride = call.queries.stride,
            .rows = tile.count,
            .visible = tile.visible,
            .K = K,
            .Kv = Kv,
            .scale = call.scale,
            .out = call.out.row(tile.row) + h * (Kv / 2),
            .out_half = H * (Kv / 2),
            .out_stride = call.out.stride},
           parts, scores.data() + worker * scores_floats);
  });
}

}  // namespace crope::ops::cpu
#endif
