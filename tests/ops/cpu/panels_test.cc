#include "crope/ops/cpu/panels.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>

#include "tests/ops/cpu/matrix_cases.h"

namespace crope::ops::cpu {
namespace {

using test::Line;
using test::on_every_instruction_set;
using test::panels_for;
using test::RandomSum;

// Every number of rows of a last panel, and several panels.
std::vector<std::int64_t> counts_for(std::int64_t width) {
  std::vector<std::int64_t> counts(static_cast<std::size_t>(width));
  std::iota(counts.begin(), counts.end(), 1);
  counts.push_back(3 * width - 1);
  return counts;
}

void check_panels(bool left, bool transposed, int count, std::int64_t size, std::int64_t terms) {
  constexpr float kGuard = 1234.5f;
  const std::int64_t width = left ? product_tile().rows : product_tile().columns;
  const PanelRange range{.first = 2, .count = size, .term = 3, .terms = terms};
  const std::int64_t rows = left ? size + 2 : terms + 3, columns = left ? terms + 3 : size + 2;
  const RandomSum x("x", rows, columns, transposed, count);
  std::vector<Line> memory = panels_for(size, width, terms);
  const auto floats = (size + width - 1) / width * width * terms;
  memory.emplace_back();
  std::fill_n(memory.front().at, memory.size() * 16, kGuard);
  float* packed = memory.front().at;
  (left ? pack_left : pack_right)(x.sum, range, packed);
  for (std::int64_t i = 0; i < (size + width - 1) / width * width; ++i) {
    for (std::int64_t k = 0; k < terms; ++k) {
      const double expected = i >= size ? 0 : left ? x.at(2 + i, 3 + k) : x.at(3 + k, 2 + i);
      ASSERT_NEAR(packed[i / width * width * terms + k * width + i % width], expected, 1e-6)
          << "left " << left << " transposed " << transposed << " sum of " << count << " size " << size << " terms "
          << terms << " at " << i << ", " << k;
    }
  }
  for (std::int64_t i = floats; i < static_cast<std::int64_t>(memory.size()) * 16; ++i) {
    ASSERT_EQ(packed[i], kGuard) << "written " << i - floats << " floats behind the panels, size " << size;
  }
}

TEST(Panels, HoldTheSumsOfTheirMatricesAndZeros) {
  on_every_instruction_set([] {
    for (const bool left : {true, false}) {
      for (const std::int64_t size : counts_for(left ? product_tile().rows : product_tile().columns)) {
        for (const bool transposed : {false, true}) {
          for (const int count : {1, 2, 4}) {
            for (const std::int64_t terms : {1, 7, 8, 16, 29, 47}) check_panels(left, transposed, count, size, terms);
          }
        }
      }
    }
  });
}

TEST(Panels, AStageHoldsAtLeastOnePanel) {
  on_every_instruction_set([] {
    const ProductTile tile = product_tile();
    EXPECT_LE(tile.block_rows, kMostBlockRows);
    EXPECT_EQ(tile.block_rows % tile.rows, 0);
    EXPECT_GE(tile.stage_floats, tile.stage_terms * tile.columns);
  });
}

}  // namespace
}  // namespace crope::ops::cpu
