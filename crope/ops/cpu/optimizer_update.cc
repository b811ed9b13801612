#include "crope/ops/cpu/optimizer_update.h"

#include <algorithm>

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "crope/ops/cpu/optimizer_update.cc"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include "crope/ops/cpu/vector_loop-inl.h"

HWY_BEFORE_NAMESPACE();
namespace crope::ops::cpu::HWY_NAMESPACE {

constexpr std::int64_t kPiece = 4096;

// The fp64 sum of body(begin, size), fp32 sums over pieces.
template <typename Body>
HWY_INLINE HWY_ATTR double sum_pieces(std::int64_t n, const Body& body) {
  double total = 0;
  for (std::int64_t begin = 0; begin < n; begin += kPiece) total += body(begin, std::min(kPiece, n - begin));
  return total;
}

double Momentum(const MomentumUpdate& call, std::int64_t n) {
  const float mu = call.momentum;
  return sum_pieces(n, [&](std::int64_t begin, std::int64_t size) HWY_ATTR {
    return sum_over(size, [&](auto d, std::int64_t i) HWY_ATTR {
      const auto g = hn::LoadU(d, call.grad + begin + i);
      auto buffer = hn::LoadU(d, call.buffer + begin + i);
      buffer = hn::MulAdd(hn::Sub(g, buffer), hn::Set(d, 1 - mu), buffer);
      hn::StoreU(buffer, d, call.buffer + begin + i);
      const auto update = call.nesterov ? hn::MulAdd(hn::Sub(buffer, g), hn::Set(d, mu), g) : buffer;
      hn::StoreU(update, d, call.update + begin + i);
      return hn::Mul(update, update);
    });
  });
}

void DecayAndSubtract(float* value, const float* direction, float keep, float rate, std::int64_t n) {
  for_each_vector(n, [&](auto d, std::int64_t i) HWY_ATTR {
    const auto kept = hn::Mul(hn::LoadU(d, value + i), hn::Set(d, keep));
    hn::StoreU(hn::NegMulAdd(hn::LoadU(d, direction + i), hn::Set(d, rate), kept), d, value + i);
  });
}

void Adamw(const AdamwUpdate& call, std::int64_t n) {
  for_each_vector(n, [&](auto d, std::int64_t i) HWY_ATTR {
    const auto g = hn::LoadU(d, call.grad + i);
    auto first = hn::LoadU(d, call.first + i);
    auto second = hn::LoadU(d, call.second + i);
    first = hn::MulAdd(hn::Sub(g, first), hn::Set(d, 1 - call.beta1), first);
    second = hn::MulAdd(hn::Mul(g, g), hn::Set(d, 1 - call.beta2), hn::Mul(second, hn::Set(d, call.beta2)));
    hn::StoreU(first, d, call.first + i);
    hn::StoreU(second, d, call.second + i);
    const auto size = hn::Add(hn::Sqrt(hn::Mul(second, hn::Set(d, call.second_scale))), hn::Set(d, call.eps));
    const auto kept = hn::Mul(hn::LoadU(d, call.value + i), hn::Set(d, call.keep));
    hn::StoreU(hn::NegMulAdd(hn::Set(d, call.rate), hn::Div(first, size), kept), d, call.value + i);
  });
}

double SumOfSquares(const float* x, std::int64_t n) {
  return sum_pieces(n, [&](std::int64_t begin, std::int64_t size) HWY_ATTR {
    return sum_over(size, [&](auto d, std::int64_t i) HWY_ATTR {
      const auto v = hn::LoadU(d, x + begin + i);
      return hn::Mul(v, v);
    });
  });
}

void ScaleInto(float* y, const float* x, float factor, std::int64_t n) {
  for_each_vector(n, [&](auto d, std::int64_t i)
                         HWY_ATTR { hn::StoreU(hn::Mul(hn::LoadU(d, x + i), hn::Set(d, factor)), d, y + i); });
}

void AddInto(float* y, const float* a, const float* b, float factor, std::int64_t n) {
  for_each_vector(n, [&](auto d, std::int64_t i) HWY_ATTR {
    hn::StoreU(hn::MulAdd(hn::LoadU(d, b + i), hn::Set(d, factor), hn::LoadU(d, a + i)), d, y + i);
  });
}

}  // namespace crope::ops::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace crope::ops::cpu {

HWY_EXPORT(Momentum);
HWY_EXPORT(DecayAndSubtract);
HWY_EXPORT(Adamw);
HWY_EXPORT(SumOfSquares);
HWY_EXPORT(ScaleInto);
HWY_EXPORT(AddInto);

double momentum_update(const MomentumUpdate& call, std::int64_t n) {
  return HWY_DYNAMIC_DISPATCH(Momentum)(call, n);
}
void decay_and_subtract(float* value, const float* direction, float keep, float rate, std::int64_t n) {
  HWY_DYNAMIC_DISPATCH(DecayAndSubtract)(value, direction, keep, rate, n);
}
void adamw_update(const AdamwUpdate& call, std::int64_t n) {
  HWY_DYNAMIC_DISPATCH(Adamw)(call, n);
}
double sum_of_squares(const float* x, std::int64_t n) {
  return HWY_DYNAMIC_DISPATCH(SumOfSquares)(x, n);
}
void scale_into(float* y, const float* x, float factor, std::int64_t n) {
  HWY_DYNAMIC_DISPATCH(ScaleInto)(y, x, factor, n);
}
void add_into(float* y, const float* a, const float* b, float factor, std::int64_t n) {
  HWY_DYNAMIC_DISPATCH(AddInto)(y, a, b, factor, n);
}

}  // namespace crope::ops::cpu
#endif
