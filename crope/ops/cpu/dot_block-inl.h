// Dot products of a few rows of weights with a few rows of x, compiled for each instruction set: the inner loop of
// skinny products and of attention scores.
//
// Each product is summed by one vector of partial sums, in the order of the width, whatever stands beside it in the
// block: so a row's result does not depend on how many rows are multiplied together.

// Highway's pattern for headers that are compiled once for each instruction set.
#if defined(CROPE_OPS_CPU_DOT_BLOCK_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef CROPE_OPS_CPU_DOT_BLOCK_INL_H_
#undef CROPE_OPS_CPU_DOT_BLOCK_INL_H_
#else
#define CROPE_OPS_CPU_DOT_BLOCK_INL_H_
#endif

#include <hwy/cache_control.h>
#include <hwy/highway.h>

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

HWY_INLINE Vector load(Tag d, const float* from) { return hn::LoadU(d, from); }

HWY_INLINE Vector load(Tag d, const Bf16* from) {
  const hn::RebindToUnsigned<Tag> wide;
  const hn::Rebind<std::uint16_t, Tag> narrow;
  std::uint16_t const* bits = reinterpret_cast<const std::uint16_t*>(from);
  return hn::BitCast(d, hn::ShiftLeft<16>(hn::PromoteTo(wide, hn::LoadU(narrow, bits))));
}

HWY_INLINE float value(float x) { return x; }

HWY_INLINE float value(Bf16 x) {
  const std::uint32_t bits = static_cast<std::uint32_t>(x.bits) << 16;
  float result;
  std::memcpy(&result, &bits, sizeof(result));
  return result;
}

HWY_INLINE float sum_lanes(Tag d, Vector v) { return hn::GetLane(hn::SumOfLanes(d, v)); }

// Whether the rows behind the block are fetched into the cache: they are what comes next where a matrix is streamed. Rows
// are too short, and too many side by side, for the processor to see it coming.
enum class Stream { no, yes };

// out[i][j] = w[i] . x[j] over N, for rows of w and x that are w_stride and x_stride apart.
template <int kRows, int kCols, Stream kStream = Stream::no, typename W>
HWY_INLINE void dot_block(const W* HWY_RESTRICT w, std::int64_t w_stride, const float* HWY_RESTRICT x,
                          std::int64_t x_stride, std::int64_t N, float (&out)[kRows][kCols]) {
  const Tag d;
  const auto lanes = static_cast<std::int64_t>(hn::Lanes(d));
  Vector sums[kRows][kCols];
#pragma GCC unroll 16
  for (int i = 0; i < kRows; ++i) {
#pragma GCC unroll 16
    for (int j = 0; j < kCols; ++j) sums[i][j] = hn::Zero(d);
  }
  std::int64_t n = 0;
  for (; n + lanes <= N; n += lanes) {
    Vector xs[kCols];
#pragma GCC unroll 16
    for (int j = 0; j < kCols; ++j) xs[j] = hn::LoadU(d, x + j * x_stride + n);
#pragma GCC unroll 16
    for (int i = 0; i < kRows; ++i) {
      const Vector row = load(d, w + i * w_stride + n);
      if constexpr (kStream == Stream::yes) hwy::Prefetch(w + (i + kRows) * w_stride + n);
#pragma GCC unroll 16
      for (int j = 0; j < kCols; ++j) sums[i][j] = hn::MulAdd(row, xs[j], sums[i][j]);
    }
  }
#pragma GCC unroll 16
  for (int i = 0; i < kRows; ++i) {
#pragma GCC unroll 16
    for (int j = 0; j < kCols; ++j) {
      float sum = sum_lanes(d, sums[i][j]);
      for (std::int64_t rest = n; rest < N; ++rest) sum += value(w[i * w_stride + rest]) * x[j * x_stride + rest];
      out[i][j] = sum;
    }
  }
}

}  // namespace crope::ops::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif
