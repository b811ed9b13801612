#include "crope/ops/cpu/skinny_product.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "crope/ops/cpu/skinny_product.cc"
#include <hwy/foreach_target.h>
// After foreach_target.h: Highway wants it so.
#include <hwy/highway.h>

#include "crope/ops/cpu/dot_block-inl.h"

HWY_BEFORE_NAMESPACE();
namespace crope::ops::cpu::HWY_NAMESPACE {

HWY_INLINE void store(float* y, float value, Output output) {
  *y = output == Output::add ? *y + value : value;
}

// Sums of one product: two do not keep the arithmetic waiting when there is one row, and six products of two sums are
// what sixteen registers hold.
constexpr int kSums = 2;

template <int kRows, int kCols, Ahead kAhead, typename W>
HWY_INLINE void multiply_columns(const InputRows& x, const W* w, std::int64_t N, std::int64_t m, std::int64_t first,
                                 OutputRows y, Output output) {
  float sums[kRows][kCols];
  dot_block<kRows, kCols, kSums, kAhead>(w, N, x.data + first * x.stride, x.stride, N, sums);
  for (int i = 0; i < kRows; ++i) {
    for (int j = 0; j < kCols; ++j) store(y.data + (first + j) * y.stride + m + i, sums[i][j], output);
  }
}

// One block of rows of W with all rows of x. The block stays in the first cache meanwhile.
template <int kRows, typename W>
HWY_INLINE void multiply_block(const InputRows& x, const W* w, std::int64_t N, std::int64_t m, OutputRows y,
                               Output output) {
  std::int64_t r = 0;
  if (x.R >= 3) {
    multiply_columns<kRows, 3, Ahead::fetch>(x, w, N, m, 0, y, output);
    for (r = 3; r + 3 <= x.R; r += 3) multiply_columns<kRows, 3, Ahead::leave>(x, w, N, m, r, y, output);
  }
  if (x.R - r == 2) multiply_columns<kRows, 2, Ahead::fetch>(x, w, N, m, r, y, output);
  if (x.R - r == 1) multiply_columns<kRows, 1, Ahead::fetch>(x, w, N, m, r, y, output);
}

template <typename W>
void multiply(const InputRows& x, const WeightRows& weight, std::int64_t begin, std::int64_t end, OutputRows y,
              Output output) {
  const W* w = static_cast<const W*>(weight.data);
  const std::int64_t N = weight.N;
  std::int64_t m = begin;
  if (x.R == 1 && sizeof(W) == sizeof(float)) {
    // Four rows at a time keep the memory busy by themselves.
    for (; m + 4 <= end; m += 4) multiply_columns<4, 1, Ahead::leave>(x, w + m * N, N, m, 0, y, output);
  }
  for (; m + 2 <= end; m += 2) multiply_block<2>(x, w + m * N, N, m, y, output);
  for (; m < end; ++m) multiply_block<1>(x, w + m * N, N, m, y, output);
}

void SkinnyProduct(const InputRows& x, const WeightRows& weight, std::int64_t begin, std::int64_t end, OutputRows y,
                   Output output) {
  if (weight.type == WeightType::fp32) {
    multiply<float>(x, weight, begin, end, y, output);
  } else {
    multiply<Bf16>(x, weight, begin, end, y, output);
  }
}

// The four dot products of a row of a and of b with each row of x.
template <int kCols, Ahead kAhead, typename W>
HWY_INLINE void complex_columns(const InputRows& x, const W* HWY_RESTRICT a, const W* HWY_RESTRICT b, std::int64_t N,
                                std::int64_t M, std::int64_t m, std::int64_t first, OutputRows y, Output output) {
  const Tag d;
  const auto lanes = static_cast<std::int64_t>(hn::Lanes(d));
  const float* HWY_RESTRICT rows = x.data + first * x.stride;
  Vector a_re[kCols], a_im[kCols], b_re[kCols], b_im[kCols];
#pragma GCC unroll 16
  for (int j = 0; j < kCols; ++j) a_re[j] = a_im[j] = b_re[j] = b_im[j] = hn::Zero(d);
  std::int64_t n = 0;
  for (; n + lanes <= N; n += lanes) {
    fetch_ahead<kAhead>(a + n);
    fetch_ahead<kAhead>(b + n);
    const Vector a_row = load(d, a + n), b_row = load(d, b + n);
#pragma GCC unroll 16
    for (int j = 0; j < kCols; ++j) {
      const Vector x_re = hn::LoadU(d, rows + j * x.stride + n), x_im = hn::LoadU(d, rows + j * x.stride + N + n);
      a_re[j] = hn::MulAdd(a_row, x_re, a_re[j]);
      a_im[j] = hn::MulAdd(a_row, x_im, a_im[j]);
      b_re[j] = hn::MulAdd(b_row, x_re, b_re[j]);
      b_im[j] = hn::MulAdd(b_row, x_im, b_im[j]);
    }
  }
#pragma GCC unroll 16
  for (int j = 0; j < kCols; ++j) {
    float re = sum_lanes(d, hn::Add(a_re[j], b_im[j])), im = sum_lanes(d, hn::Sub(a_im[j], b_re[j]));
    for (std::int64_t rest = n; rest < N; ++rest) {
      const float p = value(a[rest]), q = value(b[rest]);
      const float x_re = rows[j * x.stride + rest], x_im = rows[j * x.stride + N + rest];
      re += p * x_re + q * x_im;
      im += p * x_im - q * x_re;
    }
    float* out = y.data + (first + j) * y.stride + m;
    store(out, re, output);
    store(out + M, im, output);
  }
}

template <typename W>
void complex_multiply(const InputRows& x, const WeightRows& a, const WeightRows& b, std::int64_t begin,
                      std::int64_t end, OutputRows y, Output output) {
  const std::int64_t N = a.N, M = a.M;
  for (std::int64_t m = begin; m < end; ++m) {
    const W* a_row = static_cast<const W*>(a.data) + m * N;
    const W* b_row = static_cast<const W*>(b.data) + m * N;
    std::int64_t r = 0;
    if (x.R >= 3) {
      complex_columns<3, Ahead::fetch>(x, a_row, b_row, N, M, m, 0, y, output);
      for (r = 3; r + 3 <= x.R; r += 3) complex_columns<3, Ahead::leave>(x, a_row, b_row, N, M, m, r, y, output);
    }
    if (x.R - r == 2) complex_columns<2, Ahead::fetch>(x, a_row, b_row, N, M, m, r, y, output);
    if (x.R - r == 1) complex_columns<1, Ahead::fetch>(x, a_row, b_row, N, M, m, r, y, output);
  }
}

void SkinnyComplexProduct(const InputRows& x, const WeightRows& a, const WeightRows& b, std::int64_t begin,
                          std::int64_t end, OutputRows y, Output output) {
  if (a.type == WeightType::fp32) {
    complex_multiply<float>(x, a, b, begin, end, y, output);
  } else {
    complex_multiply<Bf16>(x, a, b, begin, end, y, output);
  }
}

}  // namespace crope::ops::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace crope::ops::cpu {

HWY_EXPORT(SkinnyProduct);
HWY_EXPORT(SkinnyComplexProduct);

void skinny_product(const InputRows& x, const WeightRows& weight, std::int64_t begin, std::int64_t end, OutputRows y,
                    Output output) {
  HWY_DYNAMIC_DISPATCH(SkinnyProduct)(x, weight, begin, end, y, output);
}

void skinny_complex_product(const InputRows& x, const WeightRows& a, const WeightRows& b, std::int64_t begin,
                            std::int64_t end, OutputRows y, Output output) {
  HWY_DYNAMIC_DISPATCH(SkinnyComplexProduct)(x, a, b, begin, end, y, output);
}

}  // namespace crope::ops::cpu
#endif
