#include "crope/base/parallel.h"
#include "crope/ops/cpu/kernels.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "crope/ops/cpu/swiglu.cc"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include <hwy/contrib/math/math-inl.h>

#include "crope/ops/cpu/vector_loop-inl.h"

HWY_BEFORE_NAMESPACE();
namespace crope::ops::cpu::HWY_NAMESPACE {

// 1 / (1 + e^-x). Beyond +-80 it is 0 or 1 to the last digit, and the exponential would leave its range.
template <typename D, typename V>
HWY_INLINE HWY_ATTR V sigmoid(D d, V x) {
  const auto clamped = hn::Max(hn::Min(x, hn::Set(d, 80.0f)), hn::Set(d, -80.0f));
  const auto one = hn::Set(d, 1.0f);
  return hn::Div(one, hn::Add(one, hn::Exp(d, hn::Neg(clamped))));
}

void Forward(const Swiglu& call, std::int64_t begin, std::int64_t end) {
  for (std::int64_t row = begin; row < end; ++row) {
    const float *gate = call.gate.row(row), *up = call.up.row(row);
    float* y = call.y.row(row);
    for_each_vector(call.gate.columns, [&](auto d, std::int64_t i) HWY_ATTR {
      const auto x = hn::LoadU(d, gate + i);
      hn::StoreU(hn::Mul(hn::Mul(x, sigmoid(d, x)), hn::LoadU(d, up + i)), d, y + i);
    });
  }
}

void Backward(const SwigluBackward& call, std::int64_t begin, std::int64_t end) {
  for (std::int64_t row = begin; row < end; ++row) {
    const float *gate = call.gate.row(row), *up = call.up.row(row), *g = call.grad_y.row(row);
    float *grad_gate = call.grad_gate.row(row), *grad_up = call.grad_up.row(row);
    for_each_vector(call.gate.columns, [&](auto d, std::int64_t i) HWY_ATTR {
      const auto x = hn::LoadU(d, gate + i), grad = hn::LoadU(d, g + i);
      const auto s = sigmoid(d, x);
      const auto silu = hn::Mul(x, s);
      // silu' = s (1 + x (1 - s)) = s + silu (1 - s)
      const auto slope = hn::MulAdd(silu, hn::Sub(hn::Set(d, 1.0f), s), s);
      hn::StoreU(hn::Mul(hn::Mul(grad, hn::LoadU(d, up + i)), slope), d, grad_gate + i);
      hn::StoreU(hn::Mul(grad, silu), d, grad_up + i);
    });
  }
}

}  // namespace crope::ops::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace crope::ops::cpu {

HWY_EXPORT(Forward);
HWY_EXPORT(Backward);

void swiglu(const Swiglu& call) {
  parallel_rows(call.gate.rows, 3 * call.gate.columns, [&](std::int64_t begin, std::int64_t end) {
    HWY_DYNAMIC_DISPATCH(Forward)(call, begin, end);
  });
}

void swiglu_backward(const SwigluBackward& call) {
  parallel_rows(call.gate.rows, 5 * call.gate.columns, [&](std::int64_t begin, std::int64_t end) {
    HWY_DYNAMIC_DISPATCH(Backward)(call, begin, end);
  });
}

}  // namespace crope::ops::cpu
#endif
