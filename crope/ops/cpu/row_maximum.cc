#include <cmath>

#include "crope/base/parallel.h"
#include "crope/ops/cpu/kernels.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "crope/ops/cpu/row_maximum.cc"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include <hwy/contrib/math/math-inl.h>

#include "crope/ops/cpu/dot_block-inl.h"

HWY_BEFORE_NAMESPACE();
namespace crope::ops::cpu::HWY_NAMESPACE {

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

HWY_EXPORT(FindRowMaximum);

void row_maxima(const RowMaxima& call) {
  const std::int64_t N = call.logits.columns;
  parallel_rows(call.logits.rows, N, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t r = begin; r < end; ++r) {
      HWY_DYNAMIC_DISPATCH(FindRowMaximum)(call.logits.row(r), N, call.maxima[static_cast<std::size_t>(r)]);
    }
  });
}

}  // namespace crope::ops::cpu
#endif
