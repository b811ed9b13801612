#include "crope/ops/cpu/halves.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "crope/ops/cpu/halves.cc"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include "crope/ops/cpu/vector_loop-inl.h"

HWY_BEFORE_NAMESPACE();
namespace crope::ops::cpu::HWY_NAMESPACE {

void SumHalves(const HalvesSum& call, std::int64_t begin, std::int64_t end) {
  for (std::int64_t row = begin; row < end; ++row) {
    const float *re = call.re + row * call.re_stride, *im = call.im + row * call.im_stride;
    float* sum = call.sum + row * call.N;
    float* difference = call.difference == nullptr ? nullptr : call.difference + row * call.N;
    for_each_vector(call.N, [&](auto d, std::int64_t i) HWY_ATTR {
      const auto x = hn::LoadU(d, re + i), y = hn::LoadU(d, im + i);
      hn::StoreU(hn::Add(x, y), d, sum + i);
      if (difference != nullptr) hn::StoreU(hn::Sub(x, y), d, difference + i);
    });
  }
}

}  // namespace crope::ops::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace crope::ops::cpu {

HWY_EXPORT(SumHalves);

void sum_halves(const HalvesSum& call, std::int64_t begin, std::int64_t end) {
  HWY_DYNAMIC_DISPATCH(SumHalves)(call, begin, end);
}

}  // namespace crope::ops::cpu
#endif
