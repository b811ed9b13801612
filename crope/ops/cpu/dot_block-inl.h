// Dot products of a few rows of weights with a few rows of x, compiled for each instruction set: the inner loop of
// skinny products and of attention scores.
//
// Each product is summed in an order that does not depend on what stands beside it in the block: so a row's result does
// not depend on how many rows are multiplied together.

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

// Whether what lies ahead in memory is fetched into the cache while the block is worked on.
enum class Ahead { leave, fetch };

// Far enough that it arrives in time, near enough that it is still there.
constexpr std::size_t kBytesAhead = 8192;

template <Ahead kAhead, typename W>
HWY_INLINE void fetch_ahead(const W* from) {
  if constexpr (kAhead == Ahead::fetch) {
    __builtin_prefetch(reinterpret_cast<const char*>(from) + kBytesAhead, /*for writing=*/0, /*second cache=*/2);
  }
}

// out[i][j] = w[i] . x[j] over N, for rows of w and x that are w_stride and x_stride apart. The vectors of a row go to
// kSums sums in turn, which do not wait for each other; results are the same bits for the same kSums.
template <int kRows, int kCols, int kSums, Ahead kAhead, typename W>
HWY_INLINE void dot_block(const W* HWY_RESTRICT w, std::int64_t w_stride, const float* HWY_RESTRICT x,
                          std::int64_t x_stride, std::int64_t N, float (&out)[kRows][kCols]) {
  const Tag d;
  const auto lanes = static_cast<std::int64_t>(hn::Lanes(d));
  Vector sums[kSums][kRows][kCols];
#pragma GCC unroll 16
  for (int s = 0; s < kSums; ++s) {
#pragma GCC unroll 16
    for (int i = 0; i < kRows; ++i) {
#pragma GCC unroll 16
      for (int j = 0; j < kCols; ++j) sums[s][i][j] = hn::Zero(d);
    }
  }
  std::int64_t n = 0;
  for (; n + kSums * lanes <= N; n += kSums * lanes) {
#pragma GCC unroll 16
    for (int i = 0; i < kRows; ++i) fetch_ahead<kAhead>(w + i * w_stride + n);
#pragma GCC unroll 16
    for (int s = 0; s < kSums; ++s) {
      Vector xs[kCols];
#pragma GCC unroll 16
      for (int j = 0; j < kCols; ++j) xs[j] = hn::LoadU(d, x + j * x_stride + n + s * lanes);
#pragma GCC unroll 16
      for (int i = 0; i < kRows; ++i) {
        const Vector row = load(d, w + i * w_stride + n + s * lanes);
#pragma GCC unroll 16
        for (int j = 0; j < kCols; ++j) sums[s][i][j] = hn::MulAdd(row, xs[j], sums[s][i][j]);
      }
    }
  }
  for (; n + lanes <= N; n += lanes) {
#pragma GCC unroll 16
    for (int i = 0; i < kRows; ++i) {
      const Vector row = load(d, w + i * w_stride + n);
#pragma GCC unroll 16
      for (int j = 0; j < kCols; ++j)
        sums[0][i][j] = hn::MulAdd(row, hn::LoadU(d, x + j * x_stride + n), sums[0][i][j]);
    }
  }
#pragma GCC unroll 16
  for (int i = 0; i < kRows; ++i) {
#pragma GCC unroll 16
    for (int j = 0; j < kCols; ++j) {
      Vector all = sums[0][i][j];
#pragma GCC unroll 16
      for (int s = 1; s < kSums; ++s) all = hn::Add(all, sums[s][i][j]);
      float sum = sum_lanes(d, all);
      for (std::int64_t rest = n; rest < N; ++rest) sum += value(w[i * w_stride + rest]) * x[j * x_stride + rest];
      out[i][j] = sum;
    }
  }
}

}  // namespace crope::ops::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif
