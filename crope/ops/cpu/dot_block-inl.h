// Dot products of four rows with a few columns, compiled for each instruction set: the inner loop of skinny products
// and of attention scores.
//
// Each product is summed in an order that does not depend on what stands beside it in the block: so a column's results
// do not depend on how many columns are multiplied together.

// Highway's pattern for headers that are compiled once for each instruction set.
#if defined(CROPE_OPS_CPU_DOT_BLOCK_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef CROPE_OPS_CPU_DOT_BLOCK_INL_H_
#undef CROPE_OPS_CPU_DOT_BLOCK_INL_H_
#else
#define CROPE_OPS_CPU_DOT_BLOCK_INL_H_
#endif

#include <hwy/highway.h>

#include <cstddef>
#include <cstdint>
#include <cstring>

HWY_BEFORE_NAMESPACE();
namespace crope::ops::cpu::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

using Tag = hn::ScalableTag<float>;
using Vector = hn::Vec<Tag>;

// A bf16 value is the upper half of a float.
struct Bf16 {
  std::uint16_t bits;
};

HWY_INLINE Vector load(Tag d, const float* from) {
  return hn::LoadU(d, from);
}

HWY_INLINE Vector load(Tag d, const Bf16* from) {
  const hn::RebindToUnsigned<Tag> wide;
  const hn::Rebind<std::uint16_t, Tag> narrow;
  std::uint16_t const* bits = reinterpret_cast<const std::uint16_t*>(from);
  return hn::BitCast(d, hn::ShiftLeft<16>(hn::PromoteTo(wide, hn::LoadU(narrow, bits))));
}

HWY_INLINE float value(float x) {
  return x;
}

HWY_INLINE float value(Bf16 x) {
  const std::uint32_t bits = static_cast<std::uint32_t>(x.bits) << 16;
  float result;
  std::memcpy(&result, &bits, sizeof(result));
  return result;
}

HWY_INLINE float sum_lanes(Tag d, Vector v) {
  return hn::GetLane(hn::SumOfLanes(d, v));
}

// Rows of a block. Fewer are repeated: their sums are thrown away.
constexpr int kBlockRows = 4;

// The sums of the lanes of four vectors together: a quarter of the work of one after the other.
HWY_INLINE void sum_lanes_of_four(Tag d, const Vector (&v)[kBlockRows], float* out) {
#if HWY_TARGET == HWY_SCALAR
  for (int i = 0; i < kBlockRows; ++i) out[i] = sum_lanes(d, v[i]);
#else
  const hn::RepartitionToWide<Tag> pairs;
  const Vector low = hn::Add(hn::InterleaveLower(d, v[0], v[1]), hn::InterleaveUpper(d, v[0], v[1]));
  const Vector high = hn::Add(hn::InterleaveLower(d, v[2], v[3]), hn::InterleaveUpper(d, v[2], v[3]));
  const auto first = hn::BitCast(pairs, low), second = hn::BitCast(pairs, high);
  HWY_ALIGN float sums[HWY_MAX_BYTES / sizeof(float)];
  hn::Store(hn::Add(hn::BitCast(d, hn::InterleaveLower(pairs, first, second)),
                    hn::BitCast(d, hn::InterleaveUpper(pairs, first, second))),
            d, sums);
  // One sum of each row stands in every 16 bytes.
  for (int i = 0; i < kBlockRows; ++i) out[i] = sums[i];
  for (std::size_t lane = kBlockRows; lane < hn::Lanes(d); lane += kBlockRows) {
    for (int i = 0; i < kBlockRows; ++i) out[i] += sums[lane + static_cast<std::size_t>(i)];
  }
#endif
}

// Two places to prefetch, each moved on by `step` bytes with every vector of the block.
struct Ahead {
  const char* first;
  const char* second;
  std::ptrdiff_t step;
};
struct NothingAhead {};

HWY_INLINE void fetch(Ahead& ahead) {
  __builtin_prefetch(ahead.first, /*for writing=*/0, /*second cache=*/2);
  __builtin_prefetch(ahead.second, /*for writing=*/0, /*second cache=*/2);
  ahead.first += ahead.step;
  ahead.second += ahead.step;
}
HWY_INLINE void fetch(NothingAhead) {}

// out[j][i] = w[i] . x[j] over N.
template <int kColumns, typename W, typename AheadType>
HWY_INLINE void dot_block(const W* const (&w)[kBlockRows], const float* const* x, std::int64_t N, AheadType ahead,
                          float (*out)[kBlockRows]) {
  const Tag d;
  const auto lanes = static_cast<std::int64_t>(hn::Lanes(d));
  const W *const w0 = w[0], *const w1 = w[1], *const w2 = w[2], *const w3 = w[3];
  const float* columns[kColumns];
  Vector sums[kColumns][kBlockRows];
#pragma GCC unroll 4
  for (int j = 0; j < kColumns; ++j) {
    columns[j] = x[j];
#pragma GCC unroll 4
    for (int i = 0; i < kBlockRows; ++i) sums[j][i] = hn::Zero(d);
  }
  std::int64_t n = 0;
#pragma GCC unroll 2
  for (; n + lanes <= N; n += lanes) {
    fetch(ahead);
    Vector values[kColumns];
#pragma GCC unroll 4
    for (int j = 0; j < kColumns; ++j) values[j] = hn::LoadU(d, columns[j] + n);
    const Vector r0 = load(d, w0 + n);
#pragma GCC unroll 4
    for (int j = 0; j < kColumns; ++j) sums[j][0] = hn::MulAdd(r0, values[j], sums[j][0]);
    const Vector r1 = load(d, w1 + n);
#pragma GCC unroll 4
    for (int j = 0; j < kColumns; ++j) sums[j][1] = hn::MulAdd(r1, values[j], sums[j][1]);
    const Vector r2 = load(d, w2 + n);
#pragma GCC unroll 4
    for (int j = 0; j < kColumns; ++j) sums[j][2] = hn::MulAdd(r2, values[j], sums[j][2]);
    const Vector r3 = load(d, w3 + n);
#pragma GCC unroll 4
    for (int j = 0; j < kColumns; ++j) sums[j][3] = hn::MulAdd(r3, values[j], sums[j][3]);
  }
#pragma GCC unroll 4
  for (int j = 0; j < kColumns; ++j) sum_lanes_of_four(d, sums[j], out[j]);
  for (; n < N; ++n) {
    for (int j = 0; j < kColumns; ++j) {
      for (int i = 0; i < kBlockRows; ++i) out[j][i] += value(w[i][n]) * columns[j][n];
    }
  }
}

// How many of `left` columns the next block takes: three fill the registers, and of four, two and two are faster than
// three and one.
HWY_INLINE std::int64_t block_columns(std::int64_t left) {
  if (left == 4 || left == 2) return 2;
  return left < 3 ? left : 3;
}

}  // namespace crope::ops::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif
