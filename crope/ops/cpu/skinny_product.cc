#include "crope/ops/cpu/skinny_product.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "crope/ops/cpu/skinny_product.cc"
#include <hwy/foreach_target.h>
// After foreach_target.h: Highway wants it so.
#include <hwy/cache_control.h>
#include <hwy/highway.h>

#include "crope/ops/cpu/dot_block-inl.h"

HWY_BEFORE_NAMESPACE();
namespace crope::ops::cpu::HWY_NAMESPACE {

HWY_INLINE void store(float* y, float value, Output output) {
  *y = output == Output::add ? *y + value : value;
}

// One block of rows of W with all rows of x, kCols of them at a time. The block stays in the first cache meanwhile.
template <int kRows, int kCols, Stream kStream, typename W>
HWY_INLINE void multiply_columns(const InputRows& x, const W* w, std::int64_t N, std::int64_t m, std::int64_t first,
                                 OutputRows y, Output output) {
  float sums[kRows][kCols];
  dot_block<kRows, kCols, kStream>(w, N, x.data + first * x.stride, x.stride, N, sums);
  for (int i = 0; i < kRows; ++i) {
    for (int j = 0; j < kCols; ++j) store(y.data + (first + j) * y.stride + m + i, sums[i][j], output);
  }
}

template <int kRows, typename W>
HWY_INLINE void multiply_block(const InputRows& x, const W* w, std::int64_t N, std::int64_t m, OutputRows y,
                               Output output) {
  std::int64_t r = 0;
  if (x.R >= 4) {
    multiply_columns<kRows, 4, Stream::yes>(x, w, N, m, r, y, output);
    for (r = 4; r + 4 <= x.R; r += 4) multiply_columns<kRows, 4, Stream::no>(x, w, N, m, r, y, output);
  }
  if (x.R - r == 3) multiply_columns<kRows, 3, Stream::yes>(x, w, N, m, r, y, output);
  if (x.R - r == 2) multiply_columns<kRows, 2, Stream::yes>(x, w, N, m, r, y, output);
  if (x.R - r == 1) multiply_columns<kRows, 1, Stream::yes>(x, w, N, m, r, y, output);
}

template <typename W>
void multiply(const InputRows& x, const WeightRows& weight, std::int64_t begin, std::int64_t end, OutputRows y,
              Output output) {
  const W* w = static_cast<const W*>(weight.data);
  const std::int64_t N = weight.N;
  std::int64_t m = begin;
  // Three rows and four columns are what sixteen registers hold; with one column four rows keep the memory busy.
  if (x.R == 1) {
    for (; m + 4 <= end; m += 4) multiply_block<4>(x, w + m * N, N, m, y, output);
  } else {
    for (; m + 3 <= end; m += 3) multiply_block<3>(x, w + m * N, N, m, y, output);
  }
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

// The four dot products of each row of a and b with each row of x, as two sums.
template <int kRows, int kCols, typename W>
HWY_INLINE void complex_columns(const InputRows& x, const W* HWY_RESTRICT a, const W* HWY_RESTRICT b, std::int64_t N,
                                std::int64_t M, std::int64_t m, std::int64_t first, OutputRows y, Output output) {
  const Tag d;
  const auto lanes = static_cast<std::int64_t>(hn::Lanes(d));
  const float* HWY_RESTRICT rows = x.data + first * x.stride;
  Vector re[kRows][kCols], im[kRows][kCols];
#pragma GCC unroll 16
  for (int i = 0; i < kRows; ++i) {
#pragma GCC unroll 16
    for (int j = 0; j < kCols; ++j) re[i][j] = im[i][j] = hn::Zero(d);
  }
  std::int64_t n = 0;
  for (; n + lanes <= N; n += lanes) {
#pragma GCC unroll 16
    for (int i = 0; i < kRows; ++i) {
      const Vector a_row = load(d, a + i * N + n), b_row = load(d, b + i * N + n);
      hwy::Prefetch(a + (i + kRows) * N + n);
      hwy::Prefetch(b + (i + kRows) * N + n);
#pragma GCC unroll 16
      for (int j = 0; j < kCols; ++j) {
        const Vector x_re = hn::LoadU(d, rows + j * x.stride + n), x_im = hn::LoadU(d, rows + j * x.stride + N + n);
        re[i][j] = hn::MulAdd(a_row, x_re, hn::MulAdd(b_row, x_im, re[i][j]));
        im[i][j] = hn::MulAdd(a_row, x_im, hn::NegMulAdd(b_row, x_re, im[i][j]));
      }
    }
  }
#pragma GCC unroll 16
  for (int i = 0; i < kRows; ++i) {
#pragma GCC unroll 16
    for (int j = 0; j < kCols; ++j) {
      float sum_re = sum_lanes(d, re[i][j]), sum_im = sum_lanes(d, im[i][j]);
      for (std::int64_t rest = n; rest < N; ++rest) {
        const float p = value(a[i * N + rest]), q = value(b[i * N + rest]);
        const float x_re = rows[j * x.stride + rest], x_im = rows[j * x.stride + N + rest];
        sum_re += p * x_re + q * x_im;
        sum_im += p * x_im - q * x_re;
      }
      float* out = y.data + (first + j) * y.stride + m + i;
      store(out, sum_re, output);
      store(out + M, sum_im, output);
    }
  }
}

template <int kRows, typename W>
HWY_INLINE void complex_block(const InputRows& x, const W* a, const W* b, std::int64_t N, std::int64_t M,
                              std::int64_t m, OutputRows y, Output output) {
  std::int64_t r = 0;
  for (; r + 3 <= x.R; r += 3) complex_columns<kRows, 3>(x, a, b, N, M, m, r, y, output);
  if (x.R - r == 2) complex_columns<kRows, 2>(x, a, b, N, M, m, r, y, output);
  if (x.R - r == 1) complex_columns<kRows, 1>(x, a, b, N, M, m, r, y, output);
}

template <typename W>
void complex_multiply(const InputRows& x, const WeightRows& a, const WeightRows& b, std::int64_t begin,
                      std::int64_t end, OutputRows y, Output output) {
  const W* a_rows = static_cast<const W*>(a.data);
  const W* b_rows = static_cast<const W*>(b.data);
  std::int64_t m = begin;
  for (; m + 2 <= end; m += 2) complex_block<2>(x, a_rows + m * a.N, b_rows + m * a.N, a.N, a.M, m, y, output);
  for (; m < end; ++m) complex_block<1>(x, a_rows + m * a.N, b_rows + m * a.N, a.N, a.M, m, y, output);
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
