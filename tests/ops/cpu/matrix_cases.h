// Matrices of random numbers as the kernels of products take them, and what a product of them should be.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "crope/ops/cpu/panels.h"
#include "tests/ops/cpu/kernel_cases.h"

namespace crope::ops::cpu::test {

// A sum of `count` random matrices [rows, columns] with gaps between their rows, and its memory.
struct RandomSum {
  RandomSum(const std::string& name, std::int64_t rows, std::int64_t columns, bool transposed, int count) {
    const std::int64_t lines = transposed ? columns : rows, width = transposed ? rows : columns;
    sum.count = count;
    sum.stride = width + 3;
    sum.transposed = transposed;
    for (int i = 0; i < count; ++i) memory.push_back(draw_floats(name + std::to_string(i), lines * sum.stride));
    sum.first = memory[0].data();
    for (int i = 1; i < count; ++i) {
      sum.others[static_cast<std::size_t>(i - 1)] = {memory[static_cast<std::size_t>(i)].data(), i % 2 ? -1.0f : 1.0f};
    }
  }
  RandomSum(const RandomSum&) = delete;

  double at(std::int64_t row, std::int64_t column) const {
    const auto i = static_cast<std::size_t>(sum.transposed ? column * sum.stride + row : row * sum.stride + column);
    double value = sum.first[i];
    for (int t = 1; t < sum.count; ++t) {
      const MatrixSum::Term& term = sum.others[static_cast<std::size_t>(t - 1)];
      value += term.sign * static_cast<double>(term.data[i]);
    }
    return value;
  }

  MatrixSum sum;
  std::vector<std::vector<float>> memory;
};

inline double product_at(const RandomSum& a, const RandomSum& b, std::int64_t row, std::int64_t column,
                         std::int64_t terms) {
  double value = 0;
  for (std::int64_t k = 0; k < terms; ++k) value += a.at(row, k) * b.at(k, column);
  return value;
}

struct alignas(64) Line {
  float at[16];
};

// Memory for whole panels, aligned as the kernels want it.
inline std::vector<Line> panels_for(std::int64_t count, std::int64_t width, std::int64_t terms) {
  return std::vector<Line>(static_cast<std::size_t>(((count + width - 1) / width * width * terms + 15) / 16));
}

}  // namespace crope::ops::cpu::test
