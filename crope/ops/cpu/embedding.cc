#include <algorithm>

#include "crope/base/parallel.h"
#include "crope/base/rounding.h"
#include "crope/ops/cpu/kernels.h"
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

}  // namespace crope::ops::cpu
