#include <algorithm>
#include <bit>

#include "crope/base/parallel.h"
#include "crope/base/rounding.h"
#include "crope/ops/cpu/kernels.h"
#include "crope/ops/cpu/quantised_weight.h"
#include "crope/ops/cpu/vector_math.h"

namespace crope::ops::cpu {

// Threads share out the columns, so that the order of additions is that of the rows.
void add_rows(const AddRows& call) {
  constexpr std::int64_t kColumns = 64;
  const std::int64_t D = call.rows.columns;
  parallel_ranges(divide_up(D, kColumns), 4, [&](std::int64_t begin, std::int64_t end) {
    const std::int64_t first = begin * kColumns, width = std::min(end * kColumns, D) - first;
    for (std::int64_t r = 0; r < call.rows.rows; ++r) {
      float* sum = call.sum.row(call.ids.data[r]) + first;
      add_into(sum, sum, call.rows.row(r) + first, 1, width);
    }
  });
}

void look_up_rows(const LookUpRows& call) {
  const std::int64_t D = call.table.N;
  for (std::size_t r = 0; r < call.ids.size(); ++r) {
    const std::int64_t first = call.ids[r] * D;
    float* y = call.y.row(static_cast<std::int64_t>(r));
    if (call.table.type == WeightType::fp32) {
      std::copy_n(static_cast<const float*>(call.table.data) + first, D, y);
    } else if (call.table.type != WeightType::bf16) {
      widen_quantised_row(call.table, call.ids[r], y);
    } else {
      const auto* bf16 = static_cast<const std::uint16_t*>(call.table.data) + first;  // the upper half of a float
      for (std::int64_t i = 0; i < D; ++i) y[i] = std::bit_cast<float>(std::uint32_t{bf16[i]} << 16);
    }
  }
}

}  // namespace crope::ops::cpu
