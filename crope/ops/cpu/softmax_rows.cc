#include "crope/ops/cpu/softmax_rows.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "crope/base/parallel.h"
#include "crope/ops/cpu/kernels.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "crope/ops/cpu/softmax_rows.cc"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include <hwy/contrib/math/math-inl.h>

#include "crope/ops/cpu/vector_loop-inl.h"

HWY_BEFORE_NAMESPACE();
namespace crope::ops::cpu::HWY_NAMESPACE {

HWY_INLINE HWY_ATTR float row_max(const float* x, std::int64_t n) {
  const Floats d;
  const auto lanes = static_cast<std::int64_t>(hn::Lanes(d));
  auto most = hn::Set(d, -std::numeric_limits<float>::infinity()), most1 = most;
  std::int64_t i = 0;
  for (; i + 2 * lanes <= n; i += 2 * lanes) {
    most = hn::Max(most, hn::LoadU(d, x + i));
    most1 = hn::Max(most1, hn::LoadU(d, x + i + lanes));
  }
  float result = hn::GetLane(hn::MaxOfLanes(d, hn::Max(most, most1)));
  for (; i < n; ++i) result = std::max(result, x[i]);
  return result;
}

// e^x for x <= 0, zero where it would be subnormal.
template <typename D, typename V>
HWY_INLINE HWY_ATTR V exp_nonpositive(D d, V x) {
  const auto lowest = hn::Set(d, -87.0f);
  return hn::IfThenElseZero(hn::Ge(x, lowest), hn::Exp(d, hn::Max(x, lowest)));
}

// One row of cross_entropy_rows. A NaN among the logits must reach the loss: comparisons lose it, so it is carried
// over.
double CrossEntropyRow(float* logits, std::int64_t V, std::int64_t target, float share) {
  const float most = row_max(logits, V);
  const float target_logit = logits[target];
  constexpr std::int64_t kPiece = 4096;
  double total = 0;
  for (std::int64_t begin = 0; begin < V; begin += kPiece) {
    float* x = logits + begin;
    total += sum_over(std::min(kPiece, V - begin), [&](auto d, std::int64_t i) HWY_ATTR {
      const auto shifted = hn::Sub(hn::LoadU(d, x + i), hn::Set(d, most));
      const auto e = hn::IfThenElse(hn::IsNaN(shifted), shifted, exp_nonpositive(d, shifted));
      if (share != 0) hn::StoreU(e, d, x + i);
      return e;
    });
  }
  if (share != 0) {
    const auto factor = static_cast<float>(share / total);
    for_each_vector(V, [&](auto d, std::int64_t i) HWY_ATTR {
      hn::StoreU(hn::Mul(hn::LoadU(d, logits + i), hn::Set(d, factor)), d, logits + i);
    });
    logits[target] -= share;
  }
  return std::log(total) + static_cast<double>(most) - static_cast<double>(target_logit);
}

HWY_INLINE HWY_ATTR std::int64_t seen_columns(std::int64_t columns, std::int64_t first, std::int64_t row) {
  return std::min(columns, first + row + 1);
}

void Softmax(const AttentionSoftmax& call) {
  for (std::int64_t row = 0; row < call.rows; ++row) {
    float* x = call.scores + row * call.stride;
    const std::int64_t seen = seen_columns(call.columns, call.first, row);
    const float most = row_max(x, seen);
    const float total = sum_over(seen, [&](auto d, std::int64_t i) HWY_ATTR {
      const auto shifted = hn::Mul(hn::Sub(hn::LoadU(d, x + i), hn::Set(d, most)), hn::Set(d, call.scale));
      const auto e = exp_nonpositive(d, shifted);
      hn::StoreU(e, d, x + i);
      return e;
    });
    const float inverse = 1.0f / total;
    for_each_vector(seen, [&](auto d, std::int64_t i)
                              HWY_ATTR { hn::StoreU(hn::Mul(hn::LoadU(d, x + i), hn::Set(d, inverse)), d, x + i); });
    std::fill(x + seen, x + call.columns, 0.0f);
    if (call.log_sums != nullptr) call.log_sums[row] = most * call.scale + std::log(total);
  }
}

void SoftmaxBackward(const AttentionSoftmaxBackward& call) {
  for (std::int64_t row = 0; row < call.rows; ++row) {
    float *x = call.scores + row * call.stride, *g = call.grad + row * call.stride;
    const std::int64_t seen = seen_columns(call.columns, call.first, row);
    const float log_sum = call.log_sums[row], delta = call.delta[row];
    for_each_vector(seen, [&](auto d, std::int64_t i) HWY_ATTR {
      const auto logit = hn::MulSub(hn::LoadU(d, x + i), hn::Set(d, call.scale), hn::Set(d, log_sum));
      // At most a rounding above zero.
      const auto p = exp_nonpositive(d, hn::Min(logit, hn::Zero(d)));
      hn::StoreU(p, d, x + i);
      const auto scaled = hn::Mul(p, hn::Set(d, call.scale));
      hn::StoreU(hn::Mul(scaled, hn::Sub(hn::LoadU(d, g + i), hn::Set(d, delta))), d, g + i);
    });
    std::fill(x + seen, x + call.columns, 0.0f);
    std::fill(g + seen, g + call.columns, 0.0f);
  }
}

}  // namespace crope::ops::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace crope::ops::cpu {

HWY_EXPORT(CrossEntropyRow);
HWY_EXPORT(Softmax);
HWY_EXPORT(SoftmaxBackward);

void cross_entropy_rows(const CrossEntropyRows& call) {
  const std::int64_t V = call.logits.columns;
  parallel_rows(call.logits.rows, V, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t r = begin; r < end; ++r) {
      call.losses.data[r] =
          HWY_DYNAMIC_DISPATCH(CrossEntropyRow)(call.logits.row(r), V, call.targets.data[r], call.share);
    }
  });
}
void attention_softmax(const AttentionSoftmax& call) {
  HWY_DYNAMIC_DISPATCH(Softmax)(call);
}
void attention_softmax_backward(const AttentionSoftmaxBackward& call) {
  HWY_DYNAMIC_DISPATCH(SoftmaxBackward)(call);
}

}  // namespace crope::ops::cpu
#endif
