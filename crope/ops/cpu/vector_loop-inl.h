// Loops over floats of any count: whole vectors, then the rest one by one. Included once for each instruction set.
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

// Calls body(tag, i) for every vector of [0, n). The body must treat lanes alike.
template <typename Body>
HWY_INLINE HWY_ATTR void for_each_vector(std::int64_t n, const Body& body) {
  const Floats d;
  const auto lanes = static_cast<std::int64_t>(hn::Lanes(d));
  std::int64_t i = 0;
  for (; i + lanes <= n; i += lanes) body(d, i);
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
  for (; i < n; ++i) total += hn::GetLane(body(OneFloat(), i));
  return total;
}

}  // namespace crope::ops::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif
