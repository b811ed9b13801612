#include "crope/ops/cpu/product_kernel.h"

#include <gtest/gtest.h>

#include "tests/ops/cpu/matrix_cases.h"

namespace crope::ops::cpu {
namespace {

using test::Line;
using test::on_every_instruction_set;
using test::panels_for;
using test::product_at;
using test::RandomSum;

// Thirteen products of numbers of size 1, summed in double by the test.
constexpr double kProductTolerance = 1e-5;

TEST(ProductKernel, ProductsGoToAllTargetsAndNowhereElse) {
  on_every_instruction_set([] {
    const ProductTile tile = product_tile();
    std::vector<std::int64_t> all_rows{2 * tile.rows + 1}, all_columns{2 * tile.columns + 3};
    for (std::int64_t rows = 1; rows <= tile.rows; ++rows) all_rows.push_back(rows);
    for (std::int64_t columns = 1; columns <= tile.columns + 1; ++columns) all_columns.push_back(columns);
    for (const std::int64_t rows : all_rows) {
      for (const std::int64_t columns : all_columns) {
        const std::int64_t terms = 13, all_terms = 17, stride = columns + 2;
        const RandomSum a("a", rows, terms, false, 1), b("b", all_terms, columns, false, 1);
        std::vector<Line> a_memory = panels_for(rows, tile.rows, terms);
        std::vector<Line> b_memory = panels_for(columns, tile.columns, all_terms);
        pack_left(a.sum, {0, rows, 0, terms}, a_memory.front().at);
        pack_right(b.sum, {0, columns, 0, all_terms}, b_memory.front().at);
        std::vector<float> first(static_cast<std::size_t>((rows + 1) * stride), 0.5f), second = first;
        const std::vector<ProductTarget> targets{{first.data(), 1, false}, {second.data(), -1, true}};
        multiply_packed({.rows = rows,
                         .columns = columns,
                         .terms = terms,
                         .a = a_memory.front().at,
                         .b = b_memory.front().at,
                         .b_stride = tile.columns * all_terms,
                         .target_stride = stride,
                         .targets = targets});
        for (std::int64_t i = 0; i <= rows; ++i) {
          for (std::int64_t j = 0; j < stride; ++j) {
            const bool inside = i < rows && j < columns;
            const double value = inside ? product_at(a, b, i, j, terms) : 0;
            const auto at = static_cast<std::size_t>(i * stride + j);
            ASSERT_NEAR(first[at], inside ? value : 0.5, kProductTolerance)
                << rows << " x " << columns << " at " << i << ", " << j;
            ASSERT_NEAR(second[at], 0.5 - value, kProductTolerance)
                << rows << " x " << columns << " at " << i << ", " << j;
          }
        }
      }
    }
  });
}

TEST(ProductKernel, TrianglesLeaveOutWhatIsZeroOrNotWanted) {
  on_every_instruction_set([] {
    const ProductTile tile = product_tile();
    const std::int64_t rows = 3 * tile.rows + 1, columns = 2 * tile.columns + 3, terms = 40;
    for (const Triangles& wanted :
         {Triangles{.last_column = 5}, Triangles{.last_column = -4}, Triangles{.first_term = -3},
          Triangles{.first_term = 25}, Triangles{.last_term = 2}, Triangles{.last_term = -9},
          Triangles{.last_column = 9, .first_term = -6, .last_term = 11}}) {
      RandomSum a("a", rows, terms, false, 1);
      const RandomSum b("b", terms, columns, false, 1);
      for (std::int64_t i = 0; i < rows; ++i) {
        for (std::int64_t k = 0; k < terms; ++k) {
          if (k < i + wanted.first_term || k > i + wanted.last_term) {
            a.memory[0][static_cast<std::size_t>(i * a.sum.stride + k)] = 0;
          }
        }
      }
      std::vector<Line> a_memory = panels_for(rows, tile.rows, terms),
                        b_memory = panels_for(columns, tile.columns, terms);
      pack_left(a.sum, {0, rows, 0, terms}, a_memory.front().at);
      pack_right(b.sum, {0, columns, 0, terms}, b_memory.front().at);
      std::vector<float> result(static_cast<std::size_t>(rows * columns), 7.0f);
      const ProductTarget target{.data = result.data()};
      multiply_packed({.rows = rows,
                       .columns = columns,
                       .terms = terms,
                       .a = a_memory.front().at,
                       .b = b_memory.front().at,
                       .b_stride = tile.columns * terms,
                       .target_stride = columns,
                       .targets = {&target, 1},
                       .triangles = wanted});
      for (std::int64_t i = 0; i < rows; ++i) {
        for (std::int64_t j = 0; j < columns && j <= i + wanted.last_column; ++j) {
          ASSERT_NEAR(result[static_cast<std::size_t>(i * columns + j)], product_at(a, b, i, j, terms), 4e-5)
              << wanted.last_column << " " << wanted.first_term << " " << wanted.last_term << " at " << i << ", " << j;
        }
      }
    }
  });
}

}  // namespace
}  // namespace crope::ops::cpu
