#include "crope/ops/cpu/product_kernel.h"

#include <algorithm>

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "crope/ops/cpu/product_kernel.cc"
#include <hwy/cache_control.h>
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include "crope/ops/cpu/product_tile-inl.h"

HWY_BEFORE_NAMESPACE();
namespace crope::ops::cpu::HWY_NAMESPACE {

using Vector = hn::Vec<Floats>;

// A panel of b that is read from the third cache is fetched into the second while the one before it is multiplied.
// With tiles of 12 x 32 it gains up to 10%; smaller ones are slower for it.
constexpr bool kFetchesNextPanel = kTileColumns >= 32;

// A tile of which only some rows and columns exist.
void add_partial_tile(const float* sums, std::int64_t rows, std::int64_t columns, const ProductTarget& target,
                      float* to, std::int64_t stride) {
  for (std::int64_t i = 0; i < rows; ++i) {
    for (std::int64_t j = 0; j < columns; ++j) {
      const float value = target.sign * sums[i * kTileColumns + j];
      to[i * stride + j] = target.add ? to[i * stride + j] + value : value;
    }
  }
}

// One tile of a result: `terms` terms of a panel of a and of one of b.
struct TileProduct {
  const float *a, *b;
  std::int64_t terms;
  std::int64_t row, column;    // of the result
  std::int64_t rows, columns;  // that exist, from there on; may be more than a tile's
  const float* fetched;        // lines to fetch meanwhile, those of a quarter of a panel; null for none
};

// Sums of kRows x kVectors vectors of a tile's rows and columns.
template <int kRows, int kVectors>
struct TileSums {
  Vector at[kRows][kVectors];
};

template <int kRows, int kVectors>
HWY_INLINE HWY_ATTR void sum_tile(const TileProduct& tile, TileSums<kRows, kVectors>& sums) {
  constexpr std::int64_t kFetchTerms = 4;
  const Floats d;
  const float *HWY_RESTRICT a = tile.a, *HWY_RESTRICT b = tile.b;
#pragma GCC unroll 16
  for (int i = 0; i < kRows; ++i) {
#pragma GCC unroll 2
    for (int j = 0; j < kVectors; ++j) sums.at[i][j] = hn::Zero(d);
  }
  const auto add_term = [&]() HWY_ATTR {
    Vector right[kVectors];
#pragma GCC unroll 2
    for (int j = 0; j < kVectors; ++j) right[j] = hn::Load(d, b + j * kTileLanes);
#pragma GCC unroll 16
    for (int i = 0; i < kRows; ++i) {
      const Vector left = hn::Set(d, a[i]);
#pragma GCC unroll 2
      for (int j = 0; j < kVectors; ++j) sums.at[i][j] = hn::MulAdd(left, right[j], sums.at[i][j]);
    }
    a += kTileRows;
    b += kTileColumns;
  };
  std::int64_t k = 0;
  if (kFetchesNextPanel && tile.fetched != nullptr) {
    const float* fetched = tile.fetched;
    for (; k + kFetchTerms <= tile.terms; k += kFetchTerms, fetched += kFetchTerms * kTileColumns) {
      __builtin_prefetch(fetched, 0, 2);
      __builtin_prefetch(fetched + 16, 0, 2);
#pragma GCC unroll 4
      for (int t = 0; t < kFetchTerms; ++t) add_term();
    }
  }
#pragma GCC unroll 4
  for (; k < tile.terms; ++k) add_term();
}

// All rows and columns of the tile exist.
HWY_ATTR void multiply_whole_tile(const PackedProduct& call, const TileProduct& tile) {
  const Floats d;
  const std::int64_t stride = call.target_stride;
  for (const ProductTarget& target : call.targets) {
    const float* to = target.data + tile.row * stride + tile.column;
    for (int i = 0; i < kTileRows; ++i) {
      hwy::Prefetch(to + i * stride);
      if (kTileColumns > 16) hwy::Prefetch(to + i * stride + 16);
    }
  }
  TileSums<kTileRows, 2> sums;
  sum_tile(tile, sums);
  for (const ProductTarget& target : call.targets) {
    float* to = target.data + tile.row * stride + tile.column;
    const Vector sign = hn::Set(d, target.sign);
#pragma GCC unroll 16
    for (int i = 0; i < kTileRows; ++i) {
#pragma GCC unroll 2
      for (int j = 0; j < 2; ++j) {
        float* at = to + i * stride + j * kTileLanes;
        const Vector value = sums.at[i][j];
        hn::StoreU(target.add ? hn::MulAdd(value, sign, hn::LoadU(d, at)) : hn::Mul(value, sign), d, at);
      }
    }
  }
}

// At most kRows rows and kVectors vectors of columns exist.
template <int kRows, int kVectors>
HWY_ATTR void multiply_partial_tile(const PackedProduct& call, const TileProduct& tile) {
  const Floats d;
  const std::int64_t stride = call.target_stride;
  TileSums<kRows, kVectors> sums;
  sum_tile(tile, sums);
  if constexpr (!kHasMasks) {
    HWY_ALIGN float stored[kRows * kTileColumns];
    for (int i = 0; i < kRows; ++i) {
      for (int j = 0; j < kVectors; ++j) hn::Store(sums.at[i][j], d, stored + i * kTileColumns + j * kTileLanes);
    }
    for (const ProductTarget& target : call.targets) {
      add_partial_tile(stored, std::min<std::int64_t>(kRows, tile.rows),
                       std::min<std::int64_t>(kVectors * kTileLanes, tile.columns), target,
                       target.data + tile.row * stride + tile.column, stride);
    }
    return;
  }
  const std::int64_t last_lanes = std::min<std::int64_t>(kTileLanes, tile.columns - (kVectors - 1) * kTileLanes);
  const auto last = hn::FirstN(d, static_cast<std::size_t>(last_lanes)), all = hn::FirstN(d, kTileLanes);
  for (const ProductTarget& target : call.targets) {
    float* to = target.data + tile.row * stride + tile.column;
    const Vector sign = hn::Set(d, target.sign);
#pragma GCC unroll 16
    for (int i = 0; i < kRows; ++i) {
      if (i >= tile.rows) break;
#pragma GCC unroll 2
      for (int j = 0; j < kVectors; ++j) {
        float* at = to + i * stride + j * kTileLanes;
        const auto mask = j + 1 < kVectors ? all : last;
        const Vector value = sums.at[i][j];
        hn::BlendedStore(target.add ? hn::MulAdd(value, sign, hn::MaskedLoad(mask, d, at)) : hn::Mul(value, sign), mask,
                         d, at);
      }
    }
  }
}

// The smallest tile that covers what exists.
HWY_ATTR void multiply_tile(const PackedProduct& call, const TileProduct& tile) {
  constexpr int kThird = kTileRows / 3;
  if (tile.rows >= kTileRows && tile.columns >= kTileColumns) return multiply_whole_tile(call, tile);
  if (tile.columns > kTileLanes) {
    if (tile.rows > 2 * kThird) return multiply_partial_tile<kTileRows, 2>(call, tile);
    if (tile.rows > kThird) return multiply_partial_tile<2 * kThird, 2>(call, tile);
    return multiply_partial_tile<kThird, 2>(call, tile);
  }
  if (tile.rows > 2 * kThird) return multiply_partial_tile<kTileRows, 1>(call, tile);
  if (tile.rows > kThird) return multiply_partial_tile<2 * kThird, 1>(call, tile);
  multiply_partial_tile<kThird, 1>(call, tile);
}

// A panel of b stays in the first cache while all panels of a pass by.
void MultiplyPacked(const PackedProduct& call) {
  constexpr std::int64_t kFetchingTiles = 4;  // rows of tiles that fetch a quarter of the next panel each
  const Triangles& wanted = call.triangles;
  const float* b = call.b;
  for (std::int64_t column = 0; column < call.columns; column += kTileColumns, b += call.b_stride) {
    const std::int64_t first_row = std::max<std::int64_t>(0, column - wanted.last_column) / kTileRows * kTileRows;
    const bool fetches = column + kTileColumns < call.columns;
    for (std::int64_t row = first_row; row < call.rows; row += kTileRows) {
      const std::int64_t begin = std::clamp<std::int64_t>(row + wanted.first_term, 0, call.terms);
      const std::int64_t end = std::clamp<std::int64_t>(row + kTileRows + wanted.last_term, begin, call.terms);
      const std::int64_t quarter = (row - first_row) / kTileRows;
      multiply_tile(call, {.a = call.a + row * call.terms + begin * kTileRows,
                           .b = b + begin * kTileColumns,
                           .terms = end - begin,
                           .row = row,
                           .column = column,
                           .rows = call.rows - row,
                           .columns = call.columns - column,
                           .fetched = fetches && quarter < kFetchingTiles
                                          ? b + call.b_stride + begin * kTileColumns + quarter * kTileColumns
                                          : nullptr});
    }
  }
}

}  // namespace crope::ops::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace crope::ops::cpu {

HWY_EXPORT(MultiplyPacked);

void multiply_packed(const PackedProduct& call) {
  HWY_DYNAMIC_DISPATCH(MultiplyPacked)(call);
}

}  // namespace crope::ops::cpu
#endif
