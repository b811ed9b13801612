#include <algorithm>
#include <array>

#include "crope/base/parallel.h"
#include "crope/ops/cpu/kernels.h"
#include "crope/ops/cpu/skinny_product.h"

namespace crope::ops::cpu {
namespace {

// Weights that a thread should have to itself before another one is woken up.
constexpr std::int64_t kGrainWeights = 1 << 15;

// What threads share a weight by: its rows, or the rows of a and b together. All have `in` weights.
std::int64_t units_of(const WeightView& weight) {
  return weight.a.M;
}

std::int64_t grain_of(const WeightView& weight) {
  return std::max<std::int64_t>(1, kGrainWeights / weight.in());
}

void multiply_units(const ConstMatrix& x, const WeightView& weight, std::int64_t begin, std::int64_t end,
                    const Matrix& y, Output output) {
  if (weight.is_pair()) {
    skinny_complex_product(x, weight.a, weight.b, begin, end, y, output);
  } else {
    skinny_product(x, weight.a, begin, end, y, output);
  }
}

// Columns [first, first + count) of all rows.
Matrix columns_of(const Matrix& x, std::int64_t first, std::int64_t count) {
  return {x.data + first, x.rows, count, x.stride};
}

}  // namespace

// One after the other as if they were one matrix.
void linear_rows(const LinearRows& call) {
  std::int64_t all = 0;
  for (const LinearRows::Map& map : call.maps) all += units_of(map.weight);
  parallel_ranges(all, grain_of(call.maps.front().weight), [&](std::int64_t begin, std::int64_t end) {
    for (const auto& [weight, y] : call.maps) {
      const std::int64_t units = units_of(weight);
      const std::int64_t first = std::clamp<std::int64_t>(begin, 0, units),
                         last = std::clamp<std::int64_t>(end, 0, units);
      if (first < last) multiply_units(call.x, weight, first, last, y, call.output);
      begin -= units;
      end -= units;
    }
  });
}

// Each range of units is gated while it is in the cache.
void gated_linear_rows(const GatedLinearRows& call) {
  const std::int64_t units = units_of(call.gate);
  parallel_ranges(units, grain_of(call.gate), [&](std::int64_t begin, std::int64_t end) {
    multiply_units(call.x, call.gate, begin, end, call.gated, Output::overwrite);
    multiply_units(call.x, call.up, begin, end, call.up_rows, Output::overwrite);
    const std::array<std::int64_t, 2> firsts = {begin, units + begin};  // a unit of a pair has two outputs
    for (const std::int64_t first : std::span(firsts).first(call.gate.is_pair() ? 2 : 1)) {
      const Matrix gate = columns_of(call.gated, first, end - begin);
      swiglu({.gate = gate, .up = columns_of(call.up_rows, first, end - begin), .y = gate});
    }
  });
}

}  // namespace crope::ops::cpu
