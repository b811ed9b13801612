#include "crope/ops/cpu/product_kernel.h"

#include <algorithm>

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "crope/ops/cpu/product_kernel.cc"
#include <hwy/cache_control.h>
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include "crope/ops/cpu/vector_loop-inl.h"

HWY_BEFORE_NAMESPACE();
namespace crope::ops::cpu::HWY_NAMESPACE {

using Vector = hn::Vec<Floats>;

// Sums of a tile stay in registers: 24 of 32 where there are vectors of 16 floats, 12 of 16 elsewhere.
constexpr int kTileRows = hn::MaxLanes(Floats()) >= 16 ? 12 : 6;
constexpr int kTileColumns = 2 * static_cast<int>(hn::MaxLanes(Floats()));

using Four = hn::CappedTag<float, 4>;
using Two = hn::CappedTag<float, 2>;
using BlockVector = hn::CappedTag<float, 8>;
constexpr int kBlockVectorTerms = static_cast<int>(hn::MaxLanes(BlockVector()));

template <int kTerms, typename D>
HWY_INLINE HWY_ATTR hn::Vec<D> load_sum(D d, const MatrixSum& x, std::int64_t at) {
  auto sum = hn::LoadU(d, x.first + at);
  for (int t = 1; t < kTerms; ++t) {
    sum = hn::MulAdd(hn::LoadU(d, x.others[t - 1].data + at), hn::Set(d, x.others[t - 1].sign), sum);
  }
  return sum;
}

float sum_at(const MatrixSum& x, std::int64_t at) {
  float sum = x.first[at];
  for (int t = 1; t < x.count; ++t) sum += x.others[t - 1].sign * x.others[t - 1].data[at];
  return sum;
}

// One panel, of kWidth rows or columns or fewer.
template <int kWidth>
void pack_one_by_one(const MatrixSum& x, std::int64_t index_stride, std::int64_t term_stride, const PanelRange& r,
                     float* out) {
  for (std::int64_t k = 0; k < r.terms; ++k) {
    for (std::int64_t i = 0; i < kWidth; ++i) {
      out[k * kWidth + i] = i < r.count ? sum_at(x, (r.first + i) * index_stride + (r.term + k) * term_stride) : 0.0f;
    }
  }
}

#if HWY_TARGET != HWY_SCALAR
// Rows of memory that lie far apart are not fetched ahead by the machine itself.
template <int kTerms>
HWY_INLINE HWY_ATTR void prefetch_sum(const MatrixSum& x, std::int64_t at, std::int64_t floats) {
  for (std::int64_t i = 0; i < floats; i += 16) {
    hwy::Prefetch(x.first + at + i);
    for (int t = 1; t < kTerms; ++t) hwy::Prefetch(x.others[t - 1].data + at + i);
  }
}

// Neighbouring rows or columns are neighbours in memory. Some panels at a time, so that whole lines of the cache are
// read where rows of memory push each other out of it.
template <int kWidth, int kTerms>
HWY_ATTR void pack_along(const MatrixSum& x, const PanelRange& r, float* out) {
  constexpr std::int64_t kPanels = 96 / kWidth, kRowsAhead = 10;
  const std::int64_t panel_floats = kWidth * r.terms;
  for (std::int64_t first = 0; first < r.count; first += kPanels * kWidth) {
    const std::int64_t panels = std::min(kPanels, (r.count - first) / kWidth);
    float* group = out + first * r.terms;
    for (std::int64_t k = 0; k < r.terms; ++k) {
      std::int64_t at = (r.term + k) * x.stride + r.first + first;
      float* to = group + k * kWidth;
      prefetch_sum<kTerms>(x, at + kRowsAhead * x.stride, panels * kWidth);
      std::int64_t panel = 0;
      if constexpr (kWidth < hn::MaxLanes(Floats())) {
        // In one store each: what it has too much is where the next term goes.
        const Floats d;
        const std::int64_t followed = k + 1 < r.terms ? panels - 1 : 0;
        for (; panel < followed; ++panel, at += kWidth, to += panel_floats) {
          hn::StoreU(load_sum<kTerms>(d, x, at), d, to);
        }
      }
      for (; panel < panels; ++panel, at += kWidth, to += panel_floats) {
        if constexpr (kWidth == kTileColumns) {
          const Floats d;
          hn::Store(load_sum<kTerms>(d, x, at), d, to);
          hn::Store(load_sum<kTerms>(d, x, at + kWidth / 2), d, to + kWidth / 2);
        } else {
          int i = 0;
          for (; i + 4 <= kWidth; i += 4) hn::StoreU(load_sum<kTerms>(Four(), x, at + i), Four(), to + i);
          for (; i < kWidth; i += 2) hn::StoreU(load_sum<kTerms>(Two(), x, at + i), Two(), to + i);
        }
      }
    }
  }
}

// Stores the four floats of each block of a vector `stride` floats apart.
template <typename V>
HWY_INLINE HWY_ATTR void store_blocks(V v, float* to, std::int64_t stride) {
  if constexpr (kBlockVectorTerms == 8) {
    hn::StoreU(hn::LowerHalf(Four(), v), Four(), to);
    hn::StoreU(hn::UpperHalf(Four(), v), Four(), to + stride);
  } else {
    hn::StoreU(v, Four(), to);
  }
}

// Turns four rows of a vector's terms over, four terms in each of its blocks.
template <int kWidth, int kTerms>
HWY_INLINE HWY_ATTR void pack_four_rows(const MatrixSum& x, std::int64_t at, float* to) {
  const BlockVector d;
  const auto r0 = load_sum<kTerms>(d, x, at), r1 = load_sum<kTerms>(d, x, at + x.stride);
  const auto r2 = load_sum<kTerms>(d, x, at + 2 * x.stride), r3 = load_sum<kTerms>(d, x, at + 3 * x.stride);
  const auto low02 = hn::InterleaveLower(d, r0, r2), low13 = hn::InterleaveLower(d, r1, r3);
  const auto high02 = hn::InterleaveUpper(d, r0, r2), high13 = hn::InterleaveUpper(d, r1, r3);
  store_blocks(hn::InterleaveLower(d, low02, low13), to, 4 * kWidth);
  store_blocks(hn::InterleaveUpper(d, low02, low13), to + kWidth, 4 * kWidth);
  store_blocks(hn::InterleaveLower(d, high02, high13), to + 2 * kWidth, 4 * kWidth);
  store_blocks(hn::InterleaveUpper(d, high02, high13), to + 3 * kWidth, 4 * kWidth);
}

// The same of two rows and four terms.
template <int kWidth, int kTerms>
HWY_INLINE HWY_ATTR void pack_two_rows(const MatrixSum& x, std::int64_t at, float* to) {
  const Four d;
  const Two two;
  const auto r0 = load_sum<kTerms>(d, x, at), r1 = load_sum<kTerms>(d, x, at + x.stride);
  const auto low = hn::InterleaveLower(d, r0, r1), high = hn::InterleaveUpper(d, r0, r1);
  hn::StoreU(hn::LowerHalf(two, low), two, to);
  hn::StoreU(hn::UpperHalf(two, low), two, to + kWidth);
  hn::StoreU(hn::LowerHalf(two, high), two, to + 2 * kWidth);
  hn::StoreU(hn::UpperHalf(two, high), two, to + 3 * kWidth);
}

// Neighbouring terms are neighbours in memory. Four rows from end to end before the next four: so few streams are
// fetched ahead by the machine, and leave each other in the cache.
template <int kWidth, int kTerms>
HWY_ATTR void pack_across(const MatrixSum& x, const PanelRange& r, float* out) {
  const std::int64_t whole = r.terms / 8 * 8;
  for (std::int64_t panel = 0; panel < r.count; panel += kWidth, out += kWidth * r.terms) {
    const std::int64_t row = r.first + panel;
    int i = 0;
    for (; i + 4 <= kWidth; i += 4) {
      const std::int64_t at = (row + i) * x.stride + r.term;
      for (std::int64_t k = 0; k < whole; k += kBlockVectorTerms) {
        pack_four_rows<kWidth, kTerms>(x, at + k, out + k * kWidth + i);
      }
    }
    for (; i < kWidth; i += 2) {
      const std::int64_t at = (row + i) * x.stride + r.term;
      for (std::int64_t k = 0; k < whole; k += 4) pack_two_rows<kWidth, kTerms>(x, at + k, out + k * kWidth + i);
    }
    pack_one_by_one<kWidth>(x, x.stride, 1, {row, kWidth, r.term + whole, r.terms - whole}, out + whole * kWidth);
  }
}
#endif

template <int kWidth, int kTerms>
void pack_panels(const MatrixSum& x, bool terms_are_neighbours, PanelRange range, float* out) {
#if HWY_TARGET != HWY_SCALAR
  PanelRange whole = range;
  whole.count = range.count / kWidth * kWidth;
  if (terms_are_neighbours) {
    pack_across<kWidth, kTerms>(x, whole, out);
  } else {
    pack_along<kWidth, kTerms>(x, whole, out);
  }
  range.first += whole.count;
  range.count -= whole.count;
  out += whole.count * range.terms;
#endif
  const std::int64_t index_stride = terms_are_neighbours ? x.stride : 1;
  const std::int64_t term_stride = terms_are_neighbours ? 1 : x.stride;
  for (; range.count > 0; range.first += kWidth, range.count -= kWidth, out += kWidth * range.terms) {
    pack_one_by_one<kWidth>(x, index_stride, term_stride, range, out);
  }
}

template <int kWidth>
void pack_any(const MatrixSum& x, bool terms_are_neighbours, const PanelRange& range, float* out) {
  if (x.count == 1) {
    pack_panels<kWidth, 1>(x, terms_are_neighbours, range, out);
  } else if (x.count == 2) {
    pack_panels<kWidth, 2>(x, terms_are_neighbours, range, out);
  } else {
    pack_panels<kWidth, 4>(x, terms_are_neighbours, range, out);
  }
}

void PackLeft(const MatrixSum& a, const PanelRange& range, float* out) {
  pack_any<kTileRows>(a, !a.transposed, range, out);
}
void PackRight(const MatrixSum& b, const PanelRange& range, float* out) {
  pack_any<kTileColumns>(b, b.transposed, range, out);
}

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

// Of a panel of a and one of b, from the first of `terms` terms on.
HWY_INLINE HWY_ATTR void multiply_tile(const PackedProduct& call, const float* HWY_RESTRICT a,
                                       const float* HWY_RESTRICT b, std::int64_t terms, std::int64_t row,
                                       std::int64_t column) {
  const Floats d;
  constexpr int kHalf = kTileColumns / 2;
  const std::int64_t stride = call.target_stride;
  for (const ProductTarget& target : call.targets) {
    const float* to = target.data + row * stride + column;
    for (int i = 0; i < kTileRows; ++i) hwy::Prefetch(to + i * stride);
  }
  Vector left[kTileRows], right[kTileRows];
#pragma GCC unroll 16
  for (int i = 0; i < kTileRows; ++i) left[i] = right[i] = hn::Zero(d);
#pragma GCC unroll 4
  for (std::int64_t k = 0; k < terms; ++k, a += kTileRows, b += kTileColumns) {
    const Vector b0 = hn::Load(d, b), b1 = hn::Load(d, b + kHalf);
#pragma GCC unroll 16
    for (int i = 0; i < kTileRows; ++i) {
      const Vector x = hn::Set(d, a[i]);
      left[i] = hn::MulAdd(x, b0, left[i]);
      right[i] = hn::MulAdd(x, b1, right[i]);
    }
  }
  if (row + kTileRows > call.rows || column + kTileColumns > call.columns) {
    HWY_ALIGN float sums[kTileRows * kTileColumns];
#pragma GCC unroll 16
    for (int i = 0; i < kTileRows; ++i) {
      hn::Store(left[i], d, sums + i * kTileColumns);
      hn::Store(right[i], d, sums + i * kTileColumns + kHalf);
    }
    for (const ProductTarget& target : call.targets) {
      add_partial_tile(sums, std::min<std::int64_t>(kTileRows, call.rows - row),
                       std::min<std::int64_t>(kTileColumns, call.columns - column), target,
                       target.data + row * stride + column, stride);
    }
    return;
  }
  for (const ProductTarget& target : call.targets) {
    float* to = target.data + row * stride + column;
    const Vector sign = hn::Set(d, target.sign);
    if (target.add) {
#pragma GCC unroll 16
      for (int i = 0; i < kTileRows; ++i) {
        hn::StoreU(hn::MulAdd(left[i], sign, hn::LoadU(d, to + i * stride)), d, to + i * stride);
        hn::StoreU(hn::MulAdd(right[i], sign, hn::LoadU(d, to + i * stride + kHalf)), d, to + i * stride + kHalf);
      }
    } else {
#pragma GCC unroll 16
      for (int i = 0; i < kTileRows; ++i) {
        hn::StoreU(hn::Mul(left[i], sign), d, to + i * stride);
        hn::StoreU(hn::Mul(right[i], sign), d, to + i * stride + kHalf);
      }
    }
  }
}

// A panel of b stays in the first cache while all panels of a pass by.
void MultiplyPacked(const PackedProduct& call) {
  const Triangles& wanted = call.triangles;
  const float* b = call.b;
  for (std::int64_t column = 0; column < call.columns; column += kTileColumns, b += call.b_stride) {
    const std::int64_t first_row = std::max<std::int64_t>(0, column - wanted.last_column);
    for (std::int64_t row = first_row / kTileRows * kTileRows; row < call.rows; row += kTileRows) {
      const std::int64_t begin = std::clamp<std::int64_t>(row + wanted.first_term, 0, call.terms);
      const std::int64_t end = std::clamp<std::int64_t>(row + kTileRows + wanted.last_term, begin, call.terms);
      multiply_tile(call, call.a + row * call.terms + begin * kTileRows, b + begin * kTileColumns, end - begin, row,
                    column);
    }
  }
}

ProductTile Tile() {
  return {kTileRows, kTileColumns};
}

}  // namespace crope::ops::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace crope::ops::cpu {

HWY_EXPORT(PackLeft);
HWY_EXPORT(PackRight);
HWY_EXPORT(MultiplyPacked);
HWY_EXPORT(Tile);

void pack_left(const MatrixSum& a, const PanelRange& range, float* out) {
  HWY_DYNAMIC_DISPATCH(PackLeft)(a, range, out);
}
void pack_right(const MatrixSum& b, const PanelRange& range, float* out) {
  HWY_DYNAMIC_DISPATCH(PackRight)(b, range, out);
}
void multiply_packed(const PackedProduct& call) {
  HWY_DYNAMIC_DISPATCH(MultiplyPacked)(call);
}
ProductTile product_tile() {
  return HWY_DYNAMIC_DISPATCH(Tile)();
}
bool product_kernels_pay() {
  return product_tile().columns > 2;
}

}  // namespace crope::ops::cpu
#endif
