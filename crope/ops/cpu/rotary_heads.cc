#include "crope/ops/cpu/rotary_heads.h"

#include <algorithm>
#include <cmath>
#include <cstring>

#include "crope/base/parallel.h"
#include "crope/ops/cpu/kernels.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "crope/ops/cpu/rotary_heads.cc"
#include <hwy/cache_control.h>
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include "crope/ops/cpu/vector_loop-inl.h"

HWY_BEFORE_NAMESPACE();
namespace crope::ops::cpu::HWY_NAMESPACE {

// Rows of a head lie far apart, which the machine does not fetch ahead by itself. REQUIRES: row t of T.
HWY_INLINE HWY_ATTR void prefetch_row(const ConstHeadHalves& x, std::int64_t t, std::int64_t T, std::int64_t P) {
  constexpr std::int64_t kRowsAhead = 4, kLine = 16;
  const std::int64_t at = std::min(t + kRowsAhead, T - 1) * x.stride;
  for (std::int64_t i = 0; i < P; i += kLine) {
    hwy::Prefetch(x.re + at + i);
    hwy::Prefetch(x.im + at + i);
  }
}

HWY_INLINE HWY_ATTR float scale_of(const float* re, const float* im, std::int64_t P, float eps) {
  const float squares = sum_over(P, [&](auto d, std::int64_t i) HWY_ATTR {
    const auto x = hn::LoadU(d, re + i), y = hn::LoadU(d, im + i);
    return hn::MulAdd(x, x, hn::Mul(y, y));
  });
  return 1.0f / std::sqrt(squares / static_cast<float>(2 * P) + eps);
}

void Head(const RotaryHead& call) {
  const std::int64_t P = call.P;
  for (std::int64_t t = 0; t < call.T; ++t) {
    prefetch_row(call.x, t, call.T, P);
    const float *re = call.x.re + t * call.x.stride, *im = call.x.im + t * call.x.stride;
    float* out = call.out + t * 2 * P;
    const bool normalised = call.gain != nullptr, rotated = call.cos != nullptr;
    const float r = normalised ? scale_of(re, im, P, call.eps) : 1.0f;
    const float *cos = rotated ? call.cos + t * P : nullptr, *sin = rotated ? call.sin + t * P : nullptr;
    for_each_vector(P, [&](auto d, std::int64_t i) HWY_ATTR {
      auto x = hn::LoadU(d, re + i), y = hn::LoadU(d, im + i);
      if (normalised) {
        x = hn::Mul(hn::Mul(x, hn::Set(d, r)), hn::LoadU(d, call.gain + i));
        y = hn::Mul(hn::Mul(y, hn::Set(d, r)), hn::LoadU(d, call.gain + P + i));
      }
      if (rotated) {
        const auto c = hn::LoadU(d, cos + i), s = hn::LoadU(d, sin + i);
        hn::StoreU(hn::NegMulAdd(y, s, hn::Mul(x, c)), d, out + i);
        hn::StoreU(hn::MulAdd(x, s, hn::Mul(y, c)), d, out + P + i);
      } else {
        hn::StoreU(x, d, out + i);
        hn::StoreU(y, d, out + P + i);
      }
    });
  }
}

void HeadBackward(const RotaryHeadBackward& call) {
  const std::int64_t P = call.P;
  for (std::int64_t t = 0; t < call.T; ++t) {
    prefetch_row(call.x, t, call.T, P);
    prefetch_row(call.gx, t, call.T, P);
    const float *re = call.x.re + t * call.x.stride, *im = call.x.im + t * call.x.stride;
    const float* grad = call.grad + t * 2 * P;
    float *gx = call.gx.re + t * call.gx.stride, *gy = call.gx.im + t * call.gx.stride;
    const bool rotated = call.cos != nullptr;
    // The gradient before the turn, kept in gx until the sum over the row is known.
    for_each_vector(P, [&](auto d, std::int64_t i) HWY_ATTR {
      const auto u = hn::LoadU(d, grad + i), v = hn::LoadU(d, grad + P + i);
      if (rotated) {
        const auto c = hn::LoadU(d, call.cos + t * P + i), s = hn::LoadU(d, call.sin + t * P + i);
        hn::StoreU(hn::MulAdd(v, s, hn::Mul(u, c)), d, gx + i);
        hn::StoreU(hn::NegMulAdd(u, s, hn::Mul(v, c)), d, gy + i);
      } else {
        hn::StoreU(u, d, gx + i);
        hn::StoreU(v, d, gy + i);
      }
    });
    if (call.gain == nullptr) continue;
    const float r = scale_of(re, im, P, call.eps);
    const float dot = sum_over(P, [&](auto d, std::int64_t i) HWY_ATTR {
      const auto ux = hn::Mul(hn::LoadU(d, gx + i), hn::LoadU(d, re + i));
      const auto vy = hn::Mul(hn::LoadU(d, gy + i), hn::LoadU(d, im + i));
      float *gain_re = call.grad_gain + i, *gain_im = call.grad_gain + P + i;
      hn::StoreU(hn::MulAdd(ux, hn::Set(d, r), hn::LoadU(d, gain_re)), d, gain_re);
      hn::StoreU(hn::MulAdd(vy, hn::Set(d, r), hn::LoadU(d, gain_im)), d, gain_im);
      return hn::MulAdd(ux, hn::LoadU(d, call.gain + i), hn::Mul(vy, hn::LoadU(d, call.gain + P + i)));
    });
    const float along = r * r * r * dot / static_cast<float>(2 * P);
    for_each_vector(P, [&](auto d, std::int64_t i) HWY_ATTR {
      const auto u = hn::Mul(hn::LoadU(d, gx + i), hn::LoadU(d, call.gain + i));
      const auto v = hn::Mul(hn::LoadU(d, gy + i), hn::LoadU(d, call.gain + P + i));
      hn::StoreU(hn::NegMulAdd(hn::LoadU(d, re + i), hn::Set(d, along), hn::Mul(u, hn::Set(d, r))), d, gx + i);
      hn::StoreU(hn::NegMulAdd(hn::LoadU(d, im + i), hn::Set(d, along), hn::Mul(v, hn::Set(d, r))), d, gy + i);
    });
  }
}

void RowProducts(std::int64_t T, std::int64_t P, const ConstHeadHalves& x, const ConstHeadHalves& y, float* products) {
  for (std::int64_t t = 0; t < T; ++t) {
    prefetch_row(x, t, T, P);
    prefetch_row(y, t, T, P);
    const std::int64_t at_x = t * x.stride, at_y = t * y.stride;
    products[t] = sum_over(P, [&](auto d, std::int64_t i) HWY_ATTR {
      const auto re = hn::Mul(hn::LoadU(d, x.re + at_x + i), hn::LoadU(d, y.re + at_y + i));
      return hn::MulAdd(hn::LoadU(d, x.im + at_x + i), hn::LoadU(d, y.im + at_y + i), re);
    });
  }
}

}  // namespace crope::ops::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace crope::ops::cpu {

HWY_EXPORT(Head);
HWY_EXPORT(HeadBackward);
HWY_EXPORT(RowProducts);

void rotary_head(const RotaryHead& call) {
  HWY_DYNAMIC_DISPATCH(Head)(call);
}
void rotary_head_backward(const RotaryHeadBackward& call) {
  HWY_DYNAMIC_DISPATCH(HeadBackward)(call);
}
void head_row_products(std::int64_t T, std::int64_t P, const ConstHeadHalves& x, const ConstHeadHalves& y,
                       float* products) {
  HWY_DYNAMIC_DISPATCH(RowProducts)(T, P, x, y, products);
}

void head_to_halves(std::int64_t T, std::int64_t P, const float* head, const HeadHalves& to) {
  const std::size_t bytes = sizeof(float) * static_cast<std::size_t>(P);
  for (std::int64_t t = 0; t < T; ++t) {
    std::memcpy(to.re + t * to.stride, head + t * 2 * P, bytes);
    std::memcpy(to.im + t * to.stride, head + t * 2 * P + P, bytes);
  }
}

void rotary_rows(const RotaryRows& call) {
  constexpr std::int64_t kGrainRows = 8;
  const std::int64_t H = call.H, G = call.G, P = call.q.columns / (2 * H), Pv = call.v.columns / (2 * G);
  const auto turn = [&](const ConstMatrix& x, std::int64_t heads, const ConstMatrix& gain, std::int64_t r,
                        std::int64_t h, float* out) {
    const std::int64_t position = call.places[static_cast<std::size_t>(r)].position;
    const float* re = x.row(r) + h * P;
    rotary_head({.T = 1,
                 .P = P,
                 .x = {re, re + heads * P, x.stride},
                 .gain = gain.data,
                 .eps = call.eps,
                 .cos = call.cos.row(position),
                 .sin = call.sin.row(position),
                 .out = out});
  };
  parallel_ranges(call.q.rows, kGrainRows, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t r = begin; r < end; ++r) {
      const CachePlace& place = call.places[static_cast<std::size_t>(r)];
      for (std::int64_t h = 0; h < H; ++h) turn(call.q, H, call.q_gain, r, h, call.rotated.row(r) + h * 2 * P);
      for (std::int64_t g = 0; g < G; ++g) {
        turn(call.k, G, call.k_gain, r, g, place.keys.row(g));
        const float* re = call.v.row(r) + g * Pv;
        std::copy_n(re, Pv, place.values.row(g));
        std::copy_n(re + G * Pv, Pv, place.values.row(g) + Pv);
      }
    }
  });
}

}  // namespace crope::ops::cpu
#endif
