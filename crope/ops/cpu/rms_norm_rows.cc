#include "crope/ops/cpu/rms_norm_rows.h"

#include <cmath>

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "crope/ops/cpu/rms_norm_rows.cc"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include "crope/ops/cpu/vector_loop-inl.h"

HWY_BEFORE_NAMESPACE();
namespace crope::ops::cpu::HWY_NAMESPACE {

void Forward(const RmsNormRows& call, std::int64_t begin, std::int64_t end) {
  const std::int64_t N = call.N;
  for (std::int64_t row = begin; row < end; ++row) {
    const float* x = call.x + row * N;
    const float* s = x;
    float squares = 0;
    if (call.added != nullptr) {
      const float* added = call.added + row * N;
      float* sum = call.sum + row * N;
      squares = sum_over(N, [&](auto d, std::int64_t i) HWY_ATTR {
        const auto v = hn::Add(hn::LoadU(d, x + i), hn::LoadU(d, added + i));
        hn::StoreU(v, d, sum + i);
        return hn::Mul(v, v);
      });
      s = sum;
    } else {
      squares = sum_over(N, [&](auto d, std::int64_t i) HWY_ATTR {
        const auto v = hn::LoadU(d, x + i);
        return hn::Mul(v, v);
      });
    }
    const float r = 1.0f / std::sqrt(squares / static_cast<float>(N) + call.eps);
    call.scale[row] = r;
    float* y = call.y + row * N;
    for_each_vector(N, [&](auto d, std::int64_t i) HWY_ATTR {
      const auto v = hn::Mul(hn::LoadU(d, s + i), hn::Set(d, r));
      hn::StoreU(hn::Mul(v, hn::LoadU(d, call.gain + i)), d, y + i);
    });
  }
}

void Backward(const RmsNormRowsBackward& call, std::int64_t begin, std::int64_t end) {
  const std::int64_t N = call.N;
  for (std::int64_t row = begin; row < end; ++row) {
    const float *s = call.s + row * N, *g = call.g + row * N;
    const float r = call.scale[row];
    const float dot = sum_over(N, [&](auto d, std::int64_t i) HWY_ATTR {
      const auto gs = hn::Mul(hn::LoadU(d, g + i), hn::LoadU(d, s + i));
      if (call.grad_gain != nullptr) {
        const auto total = hn::MulAdd(gs, hn::Set(d, r), hn::LoadU(d, call.grad_gain + i));
        hn::StoreU(total, d, call.grad_gain + i);
      }
      return hn::Mul(gs, hn::LoadU(d, call.gain + i));
    });
    const float along = r * r * r * dot / static_cast<float>(N);
    float* gx = call.gx + row * N;
    const float* g_sum = call.g_sum == nullptr ? nullptr : call.g_sum + row * N;
    for_each_vector(N, [&](auto d, std::int64_t i) HWY_ATTR {
      const auto u = hn::Mul(hn::LoadU(d, g + i), hn::LoadU(d, call.gain + i));
      auto value = hn::NegMulAdd(hn::LoadU(d, s + i), hn::Set(d, along), hn::Mul(u, hn::Set(d, r)));
      if (g_sum != nullptr) value = hn::Add(value, hn::LoadU(d, g_sum + i));
      hn::StoreU(value, d, gx + i);
    });
  }
}

}  // namespace crope::ops::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace crope::ops::cpu {

HWY_EXPORT(Forward);
HWY_EXPORT(Backward);

void rms_norm_rows(const RmsNormRows& call, std::int64_t begin, std::int64_t end) {
  HWY_DYNAMIC_DISPATCH(Forward)(call, begin, end);
}
void rms_norm_rows_backward(const RmsNormRowsBackward& call, std::int64_t begin, std::int64_t end) {
  HWY_DYNAMIC_DISPATCH(Backward)(call, begin, end);
}

}  // namespace crope::ops::cpu
#endif
