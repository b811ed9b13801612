#include "crope/ops/cpu/quantised_columns.h"

#include <algorithm>
#include <array>
#include <cmath>

#include "crope/base/parallel.h"
#include "crope/ops/cpu/quantised_weight.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "crope/ops/cpu/quantised_columns.cc"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

HWY_BEFORE_NAMESPACE();
namespace crope::ops::cpu::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

// One block of 32: its integers, its scale and the sum of the integers.
void QuantiseBlock(const float* x, std::int8_t* values, float* scale, std::int32_t* sum) {
  const hn::CappedTag<float, kBlockColumns> d;
  const hn::RebindToSigned<decltype(d)> integers;
  const hn::Rebind<std::int8_t, decltype(d)> bytes;
  const auto lanes = static_cast<std::int64_t>(hn::Lanes(d));
  auto largest = hn::Zero(d), zeros = hn::Zero(d);
  for (std::int64_t i = 0; i < kBlockColumns; i += lanes) {
    const auto value = hn::LoadU(d, x + i);
    largest = hn::Max(largest, hn::Abs(value));
    zeros = hn::MulAdd(value, hn::Zero(d), zeros);  // not zero where a number is not finite
  }
  const float most = hn::GetLane(hn::MaxOfLanes(d, largest));
  const bool is_finite = hn::GetLane(hn::SumOfLanes(d, zeros)) == 0;
  *scale = is_finite ? most / 127 : NAN;
  const auto inverse = hn::Set(d, is_finite && most > 0 ? 127 / most : 0);
  auto total = hn::Zero(integers);
  for (std::int64_t i = 0; i < kBlockColumns; i += lanes) {
    // Below 1e-36 the inverse may be infinite: such rows are zero.
    const auto value = hn::Mul(hn::LoadU(d, x + i), inverse);
    const auto limited = hn::Min(hn::Max(value, hn::Set(d, -127.0f)), hn::Set(d, 127.0f));
    const auto q = is_finite && std::isfinite(127 / most) ? hn::NearestInt(limited) : hn::Zero(integers);
    total = hn::Add(total, q);
    hn::StoreU(hn::DemoteTo(bytes, q), bytes, values + i);
  }
  *sum = hn::GetLane(hn::SumOfLanes(integers, total));
}

}  // namespace crope::ops::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace crope::ops::cpu {

HWY_EXPORT(QuantiseBlock);

// Memory: scales and sums of all columns, then the integers.
QuantisedColumns::QuantisedColumns(const ConstMatrix& x, std::int64_t N)
    : N_(N),
      count_(x.rows * (x.columns / N)),
      blocks_(blocks_of(N)),
      memory_(count_ * blocks_ * (2 + kBlockColumns / static_cast<std::int64_t>(sizeof(float)))) {
  const std::int64_t pieces = x.columns / N;
  parallel_rows(count_, N, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t i = begin; i < end; ++i) {
      const QuantisedColumn to = column(i);
      const float* from = x.row(i / pieces) + i % pieces * N;
      for (std::int64_t b = 0; b < blocks_; ++b) {
        std::array<float, kBlockColumns> rest{};
        const std::int64_t first = b * kBlockColumns, count = std::min(kBlockColumns, N - first);
        const float* values = from + first;
        if (count < kBlockColumns) values = std::copy_n(values, count, rest.begin()) - count;
        HWY_DYNAMIC_DISPATCH(QuantiseBlock)
        (values, const_cast<std::int8_t*>(to.values) + first, const_cast<float*>(to.scales) + b,
         const_cast<std::int32_t*>(to.sums) + b);
      }
    }
  });
}

QuantisedColumn QuantisedColumns::column(std::int64_t i) const {
  float* scales = memory_.data();
  auto* sums = reinterpret_cast<std::int32_t*>(scales + count_ * blocks_);
  auto* values = reinterpret_cast<std::int8_t*>(sums + count_ * blocks_);
  return {values + i * blocks_ * kBlockColumns, scales + i * blocks_, sums + i * blocks_};
}

}  // namespace crope::ops::cpu
#endif
