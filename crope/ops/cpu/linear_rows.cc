#include <algorithm>
#include <array>
#include <optional>

#include "crope/base/parallel.h"
#include "crope/ops/cpu/kernels.h"
#include "crope/ops/cpu/quantised_product.h"
#include "crope/ops/cpu/quantised_weight.h"
#include "crope/ops/cpu/skinny_product.h"

namespace crope::ops::cpu {
namespace {

// Weights that a thread should have to itself before another one is woken up.
constexpr std::int64_t kGrainWeights = 1 << 15;

bool is_quantised(const WeightView& weight) {
  return ops::is_quantised(weight.a.type);
}

// What threads share a weight by: its rows, or the rows of a and b together, sixteen at a time where they lie in
// panels.
std::int64_t unit_rows(const WeightView& weight) {
  return is_quantised(weight) ? kPanelRows : 1;
}

std::int64_t units_of(const WeightView& weight) {
  return is_quantised(weight) ? panels_of(weight.a.M) : weight.a.M;
}

std::int64_t grain_of(const WeightView& weight) {
  return std::max<std::int64_t>(1, kGrainWeights / (weight.in() * unit_rows(weight)));
}

// The rows of x as the weights of a call read them: as they are, and rounded, whole or in halves.
class Input {
 public:
  explicit Input(const ConstMatrix& x) : x_(x) {}

  // Before the threads begin.
  void prepare(const WeightView& weight) {
    auto& columns = weight.is_pair() ? halves_ : whole_;
    if (is_quantised(weight) && !columns) columns.emplace(x_, weight.a.N);
  }

  void multiply_units(const WeightView& weight, std::int64_t begin, std::int64_t end, const Matrix& y,
                      Output output) const {
    if (is_quantised(weight) && weight.is_pair()) {
      quantised_complex_product(*halves_, weight.a, weight.b, begin, end, y, output);
    } else if (is_quantised(weight)) {
      quantised_product(*whole_, weight.a, begin, end, y, output);
    } else if (weight.is_pair()) {
      skinny_complex_product(x_, weight.a, weight.b, begin, end, y, output);
    } else {
      skinny_product(x_, weight.a, begin, end, y, output);
    }
  }

 private:
  ConstMatrix x_;
  std::optional<QuantisedColumns> whole_, halves_;
};

// Columns [first, first + count) of all rows.
Matrix columns_of(const Matrix& x, std::int64_t first, std::int64_t count) {
  return {x.data + first, x.rows, count, x.stride};
}

}  // namespace

// One after the other as if they were one matrix.
void linear_rows(const LinearRows& call) {
  std::int64_t all = 0;
  Input input(call.x);
  for (const LinearRows::Map& map : call.maps) {
    all += units_of(map.weight);
    input.prepare(map.weight);
  }
  parallel_ranges(all, grain_of(call.maps.front().weight), [&](std::int64_t begin, std::int64_t end) {
    for (const auto& [weight, y] : call.maps) {
      const std::int64_t units = units_of(weight);
      const std::int64_t first = std::clamp<std::int64_t>(begin, 0, units),
                         last = std::clamp<std::int64_t>(end, 0, units);
      if (first < last) input.multiply_units(weight, first, last, y, call.output);
      begin -= units;
      end -= units;
    }
  });
}

// Each range of units is gated while it is in the cache.
void gated_linear_rows(const GatedLinearRows& call) {
  Input input(call.x);
  input.prepare(call.gate);
  input.prepare(call.up);
  const std::int64_t M = call.gate.a.M;
  parallel_ranges(units_of(call.gate), grain_of(call.gate), [&](std::int64_t begin, std::int64_t end) {
    input.multiply_units(call.gate, begin, end, call.gated, Output::overwrite);
    input.multiply_units(call.up, begin, end, call.up_rows, Output::overwrite);
    const std::int64_t from = begin * unit_rows(call.gate), count = std::min(M, end * unit_rows(call.gate)) - from;
    const std::array<std::int64_t, 2> firsts = {from, M + from};  // a unit of a pair has two outputs
    for (const std::int64_t first : std::span(firsts).first(call.gate.is_pair() ? 2 : 1)) {
      const Matrix gate = columns_of(call.gated, first, count);
      swiglu({.gate = gate, .up = columns_of(call.up_rows, first, count), .y = gate});
    }
  });
}

}  // namespace crope::ops::cpu
