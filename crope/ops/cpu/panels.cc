#include "crope/ops/cpu/panels.h"

#include <algorithm>

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "crope/ops/cpu/panels.cc"
#include <hwy/cache_control.h>
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include "crope/ops/cpu/product_tile-inl.h"

HWY_BEFORE_NAMESPACE();
namespace crope::ops::cpu::HWY_NAMESPACE {

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

// Row `i` of a sum's terms, or zeros where only `rows` exist.
template <int kTerms, typename D>
HWY_INLINE HWY_ATTR hn::Vec<D> load_row(D d, const MatrixSum& x, std::int64_t at, int i, int rows) {
  return i < rows ? load_sum<kTerms>(d, x, at + i * x.stride) : hn::Zero(d);
}

// Turns four rows of a vector's terms over, four terms in each of its blocks. Rows after the first `rows` are zeros.
template <int kWidth, int kTerms>
HWY_INLINE HWY_ATTR void pack_four_rows(const MatrixSum& x, std::int64_t at, int rows, float* to) {
  const BlockVector d;
  const auto r0 = load_row<kTerms>(d, x, at, 0, rows), r1 = load_row<kTerms>(d, x, at, 1, rows);
  const auto r2 = load_row<kTerms>(d, x, at, 2, rows), r3 = load_row<kTerms>(d, x, at, 3, rows);
  const auto low02 = hn::InterleaveLower(d, r0, r2), low13 = hn::InterleaveLower(d, r1, r3);
  const auto high02 = hn::InterleaveUpper(d, r0, r2), high13 = hn::InterleaveUpper(d, r1, r3);
  store_blocks(hn::InterleaveLower(d, low02, low13), to, 4 * kWidth);
  store_blocks(hn::InterleaveUpper(d, low02, low13), to + kWidth, 4 * kWidth);
  store_blocks(hn::InterleaveLower(d, high02, high13), to + 2 * kWidth, 4 * kWidth);
  store_blocks(hn::InterleaveUpper(d, high02, high13), to + 3 * kWidth, 4 * kWidth);
}

// The same of two rows and four terms.
template <int kWidth, int kTerms>
HWY_INLINE HWY_ATTR void pack_two_rows(const MatrixSum& x, std::int64_t at, int rows, float* to) {
  const Four d;
  const Two two;
  const auto r0 = load_row<kTerms>(d, x, at, 0, rows), r1 = load_row<kTerms>(d, x, at, 1, rows);
  const auto low = hn::InterleaveLower(d, r0, r1), high = hn::InterleaveUpper(d, r0, r1);
  hn::StoreU(hn::LowerHalf(two, low), two, to);
  hn::StoreU(hn::UpperHalf(two, low), two, to + kWidth);
  hn::StoreU(hn::LowerHalf(two, high), two, to + 2 * kWidth);
  hn::StoreU(hn::UpperHalf(two, high), two, to + 3 * kWidth);
}

#if HWY_ARCH_X86 && HWY_TARGET <= HWY_AVX3
// Blocks of four of vectors a, b, c and d: the vector of block q of each goes to to[q].
HWY_INLINE HWY_ATTR void store_block_columns(hn::Vec<Floats> a, hn::Vec<Floats> b, hn::Vec<Floats> c, hn::Vec<Floats> d,
                                             float* to, std::int64_t stride) {
  const Floats t;
  const auto even_ab = hn::OddEvenBlocks(hn::SwapAdjacentBlocks(b), a);
  const auto even_cd = hn::OddEvenBlocks(hn::SwapAdjacentBlocks(d), c);
  const auto odd_ab = hn::OddEvenBlocks(b, hn::SwapAdjacentBlocks(a));
  const auto odd_cd = hn::OddEvenBlocks(d, hn::SwapAdjacentBlocks(c));
  hn::Store(hn::ConcatLowerLower(t, even_cd, even_ab), t, to);
  hn::Store(hn::ConcatLowerLower(t, odd_cd, odd_ab), t, to + stride);
  hn::Store(hn::ConcatUpperUpper(t, even_cd, even_ab), t, to + 2 * stride);
  hn::Store(hn::ConcatUpperUpper(t, odd_cd, odd_ab), t, to + 3 * stride);
}

// Turns 16 rows of 16 terms over in registers, so that whole lines are stored. Rows after the first `rows` are zeros.
template <int kWidth, int kTerms>
HWY_INLINE HWY_ATTR void pack_sixteen_rows(const MatrixSum& x, std::int64_t at, int rows, float* to) {
  const Floats d;
  hn::Vec<Floats> terms[4][4];  // [t][g]: terms t, t + 4, t + 8 and t + 12 of rows 4g to 4g + 3
#pragma GCC unroll 4
  for (int g = 0; g < 4; ++g) {
    const auto r0 = load_row<kTerms>(d, x, at, 4 * g, rows), r1 = load_row<kTerms>(d, x, at, 4 * g + 1, rows);
    const auto r2 = load_row<kTerms>(d, x, at, 4 * g + 2, rows), r3 = load_row<kTerms>(d, x, at, 4 * g + 3, rows);
    const auto low02 = hn::InterleaveLower(d, r0, r2), low13 = hn::InterleaveLower(d, r1, r3);
    const auto high02 = hn::InterleaveUpper(d, r0, r2), high13 = hn::InterleaveUpper(d, r1, r3);
    terms[0][g] = hn::InterleaveLower(d, low02, low13);
    terms[1][g] = hn::InterleaveUpper(d, low02, low13);
    terms[2][g] = hn::InterleaveLower(d, high02, high13);
    terms[3][g] = hn::InterleaveUpper(d, high02, high13);
  }
#pragma GCC unroll 4
  for (int t = 0; t < 4; ++t) {
    store_block_columns(terms[t][0], terms[t][1], terms[t][2], terms[t][3], to + t * kWidth, 4 * kWidth);
  }
}
#endif

// Neighbouring terms are neighbours in memory: one panel, of kWidth rows or of the `count` that exist. Some rows from
// end to end before the next ones: so few streams are fetched ahead by the machine, and leave each other in the cache.
template <int kWidth, int kTerms>
HWY_ATTR void pack_panel_across(const MatrixSum& x, const PanelRange& r, int count, float* out) {
  const std::int64_t whole = r.terms / 8 * 8;
  std::int64_t done = 0;  // terms of all rows
#if HWY_ARCH_X86 && HWY_TARGET <= HWY_AVX3
  if constexpr (kWidth % 16 == 0) {
    done = r.terms / 16 * 16;
    for (int i = 0; i < kWidth; i += 16) {
      const std::int64_t at = (r.first + i) * x.stride + r.term;
      for (std::int64_t k = 0; k < done; k += 16) {
        pack_sixteen_rows<kWidth, kTerms>(x, at + k, count - i, out + k * kWidth + i);
      }
    }
  }
#endif
  int i = 0;
  for (; i + 4 <= kWidth; i += 4) {
    const std::int64_t at = (r.first + i) * x.stride + r.term;
    for (std::int64_t k = done; k < whole; k += kBlockVectorTerms) {
      pack_four_rows<kWidth, kTerms>(x, at + k, count - i, out + k * kWidth + i);
    }
  }
  for (; i < kWidth; i += 2) {
    const std::int64_t at = (r.first + i) * x.stride + r.term;
    for (std::int64_t k = done; k < whole; k += 4) {
      pack_two_rows<kWidth, kTerms>(x, at + k, count - i, out + k * kWidth + i);
    }
  }
  pack_one_by_one<kWidth>(x, x.stride, 1, {r.first, count, r.term + whole, r.terms - whole}, out + whole * kWidth);
}

template <int kWidth, int kTerms>
HWY_ATTR void pack_across(const MatrixSum& x, const PanelRange& range, float* out) {
  PanelRange r = range;
  for (; r.count > 0; r.first += kWidth, r.count -= kWidth, out += kWidth * r.terms) {
    pack_panel_across<kWidth, kTerms>(x, r, static_cast<int>(std::min<std::int64_t>(kWidth, r.count)), out);
  }
}

// Neighbouring rows or columns are neighbours in memory: the last panel, of `count` < kWidth of them.
template <int kWidth, int kTerms>
HWY_ATTR void pack_last_panel_along(const MatrixSum& x, const PanelRange& r, float* out) {
  const Floats d;
  const auto loaded = [&](std::int64_t at, std::int64_t count) HWY_ATTR {
    const auto mask = hn::FirstN(d, static_cast<std::size_t>(std::clamp<std::int64_t>(count, 0, kTileLanes)));
    auto sum = hn::MaskedLoad(mask, d, x.first + at);
    for (int t = 1; t < kTerms; ++t) {
      sum = hn::MulAdd(hn::MaskedLoad(mask, d, x.others[t - 1].data + at), hn::Set(d, x.others[t - 1].sign), sum);
    }
    return sum;
  };
  for (std::int64_t k = 0; k < r.terms; ++k, out += kWidth) {
    const std::int64_t at = (r.term + k) * x.stride + r.first;
    for (int i = 0; i < kWidth; i += kTileLanes) {
      const std::size_t kept = std::min(kTileLanes, kWidth - i);
      hn::BlendedStore(loaded(at + i, r.count - i), hn::FirstN(d, kept), d, out + i);
    }
  }
}
#endif

template <int kWidth, int kTerms>
void pack_panels(const MatrixSum& x, bool terms_are_neighbours, PanelRange range, float* out) {
#if HWY_TARGET != HWY_SCALAR
  if (terms_are_neighbours) return pack_across<kWidth, kTerms>(x, range, out);
  PanelRange whole = range;
  whole.count = range.count / kWidth * kWidth;
  pack_along<kWidth, kTerms>(x, whole, out);
  range.first += whole.count;
  range.count -= whole.count;
  out += whole.count * range.terms;
  if constexpr (kHasMasks) {
    if (range.count > 0) pack_last_panel_along<kWidth, kTerms>(x, range, out);
    return;
  }
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

// Found by trial. Where arithmetic is fast, packed operands should come from a nearer cache.
ProductTile Tile() {
  if (kTileColumns >= 32) return {kTileRows, kTileColumns, kMostBlockRows, 512, 1 << 19, 56};
  return {kTileRows, kTileColumns, 60, 1024, 1 << 20, 33};
}

}  // namespace crope::ops::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace crope::ops::cpu {

HWY_EXPORT(PackLeft);
HWY_EXPORT(PackRight);
HWY_EXPORT(Tile);

void pack_left(const MatrixSum& a, const PanelRange& range, float* out) {
  HWY_DYNAMIC_DISPATCH(PackLeft)(a, range, out);
}
void pack_right(const MatrixSum& b, const PanelRange& range, float* out) {
  HWY_DYNAMIC_DISPATCH(PackRight)(b, range, out);
}
ProductTile product_tile() {
  return HWY_DYNAMIC_DISPATCH(Tile)();
}
bool product_kernels_pay() {
  return product_tile().columns > 2;
}

}  // namespace crope::ops::cpu
#endif
