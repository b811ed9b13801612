#include "crope/ops/cpu/vector_math.h"

#include <algorithm>
#include <array>

#include "crope/base/parallel.h"
#include "crope/ops/cpu/kernels.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "crope/ops/cpu/vector_math.cc"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include "crope/ops/cpu/vector_loop-inl.h"

HWY_BEFORE_NAMESPACE();
namespace crope::ops::cpu::HWY_NAMESPACE {

void Momentum(const MomentumUpdate& call, std::int64_t begin, std::int64_t end) {
  const float mu = call.momentum;
  const float* grad = call.grad.data + begin;
  float *to_buffer = call.buffer.data + begin, *to_update = call.update.data + begin;
  for_each_vector(end - begin, [&](auto d, std::int64_t i) HWY_ATTR {
    const auto g = hn::LoadU(d, grad + i);
    auto buffer = hn::LoadU(d, to_buffer + i);
    buffer = hn::MulAdd(hn::Sub(g, buffer), hn::Set(d, 1 - mu), buffer);
    hn::StoreU(buffer, d, to_buffer + i);
    hn::StoreU(call.nesterov ? hn::MulAdd(hn::Sub(buffer, g), hn::Set(d, mu), g) : buffer, d, to_update + i);
  });
}

void Decay(const DecayAndSubtract& call, std::int64_t begin, std::int64_t end) {
  float* value = call.value.data + begin;
  const float* direction = call.direction.data + begin;
  for_each_vector(end - begin, [&](auto d, std::int64_t i) HWY_ATTR {
    const auto kept = hn::Mul(hn::LoadU(d, value + i), hn::Set(d, call.keep));
    hn::StoreU(hn::NegMulAdd(hn::LoadU(d, direction + i), hn::Set(d, call.rate), kept), d, value + i);
  });
}

void Adamw(const AdamwUpdate& call, std::int64_t begin, std::int64_t end) {
  const float* grad = call.grad.data + begin;
  float *value = call.value.data + begin, *to_first = call.first.data + begin, *to_second = call.second.data + begin;
  for_each_vector(end - begin, [&](auto d, std::int64_t i) HWY_ATTR {
    const auto g = hn::LoadU(d, grad + i);
    auto first = hn::LoadU(d, to_first + i);
    auto second = hn::LoadU(d, to_second + i);
    first = hn::MulAdd(hn::Sub(g, first), hn::Set(d, 1 - call.beta1), first);
    second = hn::MulAdd(hn::Mul(g, g), hn::Set(d, 1 - call.beta2), hn::Mul(second, hn::Set(d, call.beta2)));
    hn::StoreU(first, d, to_first + i);
    hn::StoreU(second, d, to_second + i);
    const auto size = hn::Add(hn::Sqrt(hn::Mul(second, hn::Set(d, call.second_scale))), hn::Set(d, call.eps));
    const auto kept = hn::Mul(hn::LoadU(d, value + i), hn::Set(d, call.keep));
    hn::StoreU(hn::NegMulAdd(hn::Set(d, call.rate), hn::Div(first, size), kept), d, value + i);
  });
}

double SumOfSquares(const float* x, std::int64_t n) {
  constexpr std::int64_t kPiece = 4096;
  double total = 0;
  for (std::int64_t begin = 0; begin < n; begin += kPiece) {
    total += sum_over(std::min(kPiece, n - begin), [&](auto d, std::int64_t i) HWY_ATTR {
      const auto v = hn::LoadU(d, x + begin + i);
      return hn::Mul(v, v);
    });
  }
  return total;
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
HWY_EXPORT(Decay);
HWY_EXPORT(Adamw);
HWY_EXPORT(SumOfSquares);
HWY_EXPORT(ScaleInto);
HWY_EXPORT(AddInto);

double sum_of_squares(const float* x, std::int64_t n) {
  return HWY_DYNAMIC_DISPATCH(SumOfSquares)(x, n);
}
void scale_into(float* y, const float* x, float factor, std::int64_t n) {
  HWY_DYNAMIC_DISPATCH(ScaleInto)(y, x, factor, n);
}
void add_into(float* y, const float* a, const float* b, float factor, std::int64_t n) {
  HWY_DYNAMIC_DISPATCH(AddInto)(y, a, b, factor, n);
}

void momentum_update(const MomentumUpdate& call) {
  parallel_rows(call.grad.columns, 5, [&](std::int64_t begin, std::int64_t end) {
    HWY_DYNAMIC_DISPATCH(Momentum)(call, begin, end);
  });
}
void decay_and_subtract(const DecayAndSubtract& call) {
  parallel_rows(call.value.columns, 3, [&](std::int64_t begin, std::int64_t end) {
    HWY_DYNAMIC_DISPATCH(Decay)(call, begin, end);
  });
}
void adamw_update(const AdamwUpdate& call) {
  parallel_rows(call.value.columns, 7, [&](std::int64_t begin, std::int64_t end) {
    HWY_DYNAMIC_DISPATCH(Adamw)(call, begin, end);
  });
}

// The same with any number of threads.
double sum_of_squares(const ConstMatrix& x) {
  std::array<double, kMostChunks> partial{};
  parallel_chunks(x.columns, chunk_count(x.columns, 1), [&](std::int64_t chunk, std::int64_t begin, std::int64_t end) {
    partial[static_cast<std::size_t>(chunk)] = sum_of_squares(x.data + begin, end - begin);
  });
  double squares = 0;
  for (const double part : partial) squares += part;
  return squares;
}

}  // namespace crope::ops::cpu
#endif
