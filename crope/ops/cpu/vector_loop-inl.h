// Loops over floats of any count: whole vectors, then the rest in vectors of 8 and of 4 and one by one. Included once
// for each instruction set.
#if defined(CROPE_OPS_CPU_VECTOR_LOOP_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef CROPE_OPS_CPU_VECTOR_LOOP_INL_H_
#undef CROPE_OPS_CPU_VECTOR_LOOP_INL_H_
#else
#define CROPE_OPS_CPU_VECTOR_LOOP_INL_H_
#endif

#include <hwy/highway.h>

#include <cstddef>
#include <cstdint>

HWY_BEFORE_NAMESPACE();
namespace crope::ops::cpu::HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;

using Floats = hn::ScalableTag<float>;
using OneFloat = hn::CappedTag<float, 1>;

// Calls body(tag, i) for vectors of kLanes floats, and then of half as many, that cover [i, n); leaves less than four.
template <int kLanes, typename Body>
HWY_INLINE HWY_ATTR std::int64_t for_each_part(std::int64_t i, std::int64_t n, const Body& body) {
  if constexpr (kLanes >= 4 && hn::MaxLanes(Floats()) > kLanes) {
    if (i + kLanes <= n) {
      body(hn::CappedTag<float, kLanes>(), i);
      i += kLanes;
    }
  }
  if constexpr (kLanes > 4) return for_each_part<kLanes / 2>(i, n, body);
  return i;
}

// Calls body(tag, i) for every vector of [0, n). The body must treat lanes alike.
template <typename Body>
HWY_INLINE HWY_ATTR void for_each_vector(std::int64_t n, const Body& body) {
  const Floats d;
  const auto lanes = static_cast<std::int64_t>(hn::Lanes(d));
  std::int64_t i = 0;
  for (; i + lanes <= n; i += lanes) body(d, i);
  if (i < n) i = for_each_part<8>(i, n, body);
  for (; i < n; ++i) body(OneFloat(), i);
}

// The sum of body(tag, i) over [0, n), in an order that depends on n and the instruction set alone.
template <typename Body>
HWY_INLINE HWY_ATTR float sum_over(std::int64_t n, const Body& body) {
  const Floats d;
  const auto lanes = static_cast<std::int64_t>(hn::Lanes(d));
  auto sum0 = hn::Zero(d), sum1 = hn::Zero(d), sum2 = hn::Zero(d), sum3 = hn::Zero(d);
  std::int64_t i = 0;
  for (; i + 4 * lanes <= n; i += 4 * lanes) {
    sum0 = hn::Add(sum0, body(d, i));
    sum1 = hn::Add(sum1, body(d, i + lanes));
    sum2 = hn::Add(sum2, body(d, i + 2 * lanes));
    sum3 = hn::Add(sum3, body(d, i + 3 * lanes));
  }
  for (; i + lanes <= n; i += lanes) sum0 = hn::Add(sum0, body(d, i));
  float total = hn::GetLane(hn::SumOfLanes(d, hn::Add(hn::Add(sum0, sum1), hn::Add(sum2, sum3))));
  if (i < n) {
    i = for_each_part<8>(
        i, n, [&](auto part, std::int64_t at) HWY_ATTR { total += hn::GetLane(hn::SumOfLanes(part, body(part, at))); });
  }
  for (; i < n; ++i) total += hn::GetLane(body(OneFloat(), i));
  return total;
}

}  // namespace crope::ops::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif
