#include <cmath>

#include "crope/base/parallel.h"
#include "crope/ops/cpu/kernels.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "crope/ops/cpu/rms_norm.cc"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include "crope/ops/cpu/vector_loop-inl.h"

HWY_BEFORE_NAMESPACE();
namespace crope::ops::cpu::HWY_NAMESPACE {

void Forward(const RmsNorm& call, std::int64_t begin, std::int64_t end) {
  const std::int64_t N = call.x.columns;
  const float* gain = call.gain.data;
  for (std::int64_t row = begin; row < end; ++row) {
    const float* x = call.x.row(row);
    const float* s = x;
    float squares = 0;
    if (call.added.defined()) {
      const float* added = call.added.row(row);
      float* sum = call.sum.row(row);
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
    if (call.scale.defined()) call.scale.data[row] = r;
    float* y = call.y.row(row);
    for_each_vector(N, [&](auto d, std::int64_t i) HWY_ATTR {
      const auto v = hn::Mul(hn::LoadU(d, s + i), hn::Set(d, r));
      hn::StoreU(hn::Mul(v, hn::LoadU(d, gain + i)), d, y + i);
    });
  }
}

// grad_gain [N] is added to; null when it is not wanted.
void Backward(const RmsNormBackward& call, std::int64_t begin, std::int64_t end, float* grad_gain) {
  const std::int64_t N = call.sum.columns;
  const float* gain = call.gain.data;
  for (std::int64_t row = begin; row < end; ++row) {
    const float *s = call.sum.row(row), *g = call.grad_y.row(row);
    const float r = call.scale.data[row];
    const float dot = sum_over(N, [&](auto d, std::int64_t i) HWY_ATTR {
      const auto gs = hn::Mul(hn::LoadU(d, g + i), hn::LoadU(d, s + i));
      if (grad_gain != nullptr) {
        const auto total = hn::MulAdd(gs, hn::Set(d, r), hn::LoadU(d, grad_gain + i));
        hn::StoreU(total, d, grad_gain + i);
      }
      return hn::Mul(gs, hn::LoadU(d, gain + i));
    });
    const float along = r * r * r * dot / static_cast<float>(N);
    float* gx = call.grad_x.row(row);
    const float* g_sum = call.grad_sum.defined() ? call.grad_sum.row(row) : nullptr;
    for_each_vector(N, [&](auto d, std::int64_t i) HWY_ATTR {
      const auto u = hn::Mul(hn::LoadU(d, g + i), hn::LoadU(d, gain + i));
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

void rms_norm(const RmsNorm& call) {
  parallel_rows(call.x.rows, 4 * call.x.columns, [&](std::int64_t begin, std::int64_t end) {
    HWY_DYNAMIC_DISPATCH(Forward)(call, begin, end);
  });
}

void rms_norm_backward(const RmsNormBackward& call) {
  const std::int64_t rows = call.sum.rows, cost = 4 * call.sum.columns;
  const Matrix& parts = call.gain_parts;
  parallel_chunks(rows, parts.defined() ? parts.rows : chunk_count(rows, cost),
                  [&](std::int64_t chunk, std::int64_t begin, std::int64_t end) {
                    HWY_DYNAMIC_DISPATCH(Backward)(call, begin, end, parts.defined() ? parts.row(chunk) : nullptr);
                  });
}

}  // namespace crope::ops::cpu
#endif
