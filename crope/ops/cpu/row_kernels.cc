#include "crope/ops/cpu/row_kernels.h"

#include <cmath>

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "crope/ops/cpu/row_kernels.cc"
#include <hwy/foreach_target.h>
// After foreach_target.h: Highway wants it so.
#include <hwy/contrib/math/math-inl.h>
#include <hwy/highway.h>

#include "crope/ops/cpu/dot_block-inl.h"

HWY_BEFORE_NAMESPACE();
namespace crope::ops::cpu::HWY_NAMESPACE {

HWY_INLINE float sum_of_squares(const float* x, std::int64_t N) {
  const Tag d;
  const auto lanes = static_cast<std::int64_t>(hn::Lanes(d));
  Vector sums[kBlockRows] = {hn::Zero(d), hn::Zero(d), hn::Zero(d), hn::Zero(d)};
  std::int64_t n = 0;
  for (; n + kBlockRows * lanes <= N; n += kBlockRows * lanes) {
#pragma GCC unroll 4
    for (int i = 0; i < kBlockRows; ++i) {
      const Vector values = hn::LoadU(d, x + n + i * lanes);
      sums[i] = hn::MulAdd(values, values, sums[i]);
    }
  }
  float sum = sum_lanes(d, hn::Add(hn::Add(sums[0], sums[1]), hn::Add(sums[2], sums[3])));
  for (; n < N; ++n) sum += x[n] * x[n];
  return sum;
}

void NormaliseRow(const float* x, const float* gain, float eps, std::int64_t N, float* y) {
  const Tag d;
  const auto lanes = static_cast<std::int64_t>(hn::Lanes(d));
  const float scale = 1.0f / std::sqrt(sum_of_squares(x, N) / static_cast<float>(N) + eps);
  const Vector scales = hn::Set(d, scale);
  std::int64_t n = 0;
  for (; n + lanes <= N; n += lanes) {
    hn::StoreU(hn::Mul(hn::Mul(hn::LoadU(d, x + n), scales), hn::LoadU(d, gain + n)), d, y + n);
  }
  for (; n < N; ++n) y[n] = x[n] * scale * gain[n];
}

HWY_INLINE Vector silu(Tag d, Vector x) {
  // Above 88 the exponential leaves the range of floats; there the result is 0 in any case.
  return hn::Div(x, hn::Add(hn::Set(d, 1.0f), hn::Exp(d, hn::Min(hn::Neg(x), hn::Set(d, 88.0f)))));
}

void GateRow(float* gate, const float* up, std::int64_t N) {
  const Tag d;
  const auto lanes = static_cast<std::int64_t>(hn::Lanes(d));
  std::int64_t n = 0;
  for (; n + lanes <= N; n += lanes) {
    hn::StoreU(hn::Mul(silu(d, hn::LoadU(d, gate + n)), hn::LoadU(d, up + n)), d, gate + n);
  }
  for (; n < N; ++n) gate[n] = gate[n] / (1.0f + std::exp(-gate[n])) * up[n];
}

void RotateHead(const float* re, const float* im, const float* gain, float eps, const float* cos, const float* sin,
                std::int64_t K, float* out) {
  const Tag d;
  const auto lanes = static_cast<std::int64_t>(hn::Lanes(d));
  const std::int64_t half = K / 2;
  float scale = 1;
  if (gain != nullptr) {
    const float squares = sum_of_squares(re, half) + sum_of_squares(im, half);
    scale = 1.0f / std::sqrt(squares / static_cast<float>(K) + eps);
  }
  const Vector scales = hn::Set(d, scale);
  std::int64_t j = 0;
  for (; j + lanes <= half; j += lanes) {
    Vector x = hn::LoadU(d, re + j), y = hn::LoadU(d, im + j);
    if (gain != nullptr) {
      x = hn::Mul(hn::Mul(x, scales), hn::LoadU(d, gain + j));
      y = hn::Mul(hn::Mul(y, scales), hn::LoadU(d, gain + half + j));
    }
    const Vector c = hn::LoadU(d, cos + j), s = hn::LoadU(d, sin + j);
    hn::StoreU(hn::NegMulAdd(y, s, hn::Mul(x, c)), d, out + j);
    hn::StoreU(hn::MulAdd(x, s, hn::Mul(y, c)), d, out + half + j);
  }
  for (; j < half; ++j) {
    const float x = re[j] * scale * (gain != nullptr ? gain[j] : 1.0f);
    const float y = im[j] * scale * (gain != nullptr ? gain[half + j] : 1.0f);
    out[j] = x * cos[j] - y * sin[j];
    out[half + j] = x * sin[j] + y * cos[j];
  }
}

// Sums of exp(x - largest) over pieces of the row, each short enough for floats.
HWY_INLINE double sum_of_exponentials(const float* x, std::int64_t N, float largest) {
  const Tag d;
  const auto lanes = static_cast<std::int64_t>(hn::Lanes(d));
  constexpr std::int64_t kPiece = 1024;
  const Vector offset = hn::Set(d, largest), lowest = hn::Set(d, -87.0f);
  double total = 0;
  std::int64_t n = 0;
  while (n + lanes <= N) {
    Vector sums = hn::Zero(d);
    const std::int64_t end = n + kPiece < N ? n + kPiece : N;
    for (; n + lanes <= end; n += lanes) {
      sums = hn::Add(sums, hn::Exp(d, hn::Max(hn::Sub(hn::LoadU(d, x + n), offset), lowest)));
    }
    total += sum_lanes(d, sums);
  }
  for (; n < N; ++n) total += std::exp(static_cast<double>(x[n] - largest));
  return total;
}

void FindRowMaximum(const float* x, std::int64_t N, RowMaximum& result) {
  const Tag d;
  const auto lanes = static_cast<std::int64_t>(hn::Lanes(d));
  Vector largest = hn::Set(d, -INFINITY);
  std::int64_t n = 0;
  // A comparison with what is not a number is false, so the largest stays.
  for (; n + lanes <= N; n += lanes) {
    const Vector v = hn::LoadU(d, x + n);
    largest = hn::IfThenElse(hn::Gt(v, largest), v, largest);
  }
  float value = hn::GetLane(hn::MaxOfLanes(d, largest));
  for (; n < N; ++n) value = x[n] > value ? x[n] : value;
  std::int64_t index = 0;
  while (index < N && x[index] != value) ++index;
  result.index = index == N ? 0 : index;
  result.value = value;
  result.log_sum_exp = value + std::log(sum_of_exponentials(x, N, value));
}

}  // namespace crope::ops::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace crope::ops::cpu {

HWY_EXPORT(NormaliseRow);
HWY_EXPORT(GateRow);
HWY_EXPORT(RotateHead);
HWY_EXPORT(FindRowMaximum);

void normalise_row(const float* x, const float* gain, float eps, std::int64_t N, float* y) {
  HWY_DYNAMIC_DISPATCH(NormaliseRow)(x, gain, eps, N, y);
}

void gate_row(float* gate, const float* up, std::int64_t N) {
  HWY_DYNAMIC_DISPATCH(GateRow)(gate, up, N);
}

void rotate_head(const float* re, const float* im, const float* gain, float eps, const float* cos, const float* sin,
                 std::int64_t K, float* out) {
  HWY_DYNAMIC_DISPATCH(RotateHead)(re, im, gain, eps, cos, sin, K, out);
}

RowMaximum row_maximum(const float* logits, std::int64_t N) {
  RowMaximum result;
  HWY_DYNAMIC_DISPATCH(FindRowMaximum)(logits, N, result);
  return result;
}

}  // namespace crope::ops::cpu
#endif
