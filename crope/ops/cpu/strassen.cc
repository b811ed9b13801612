#include "crope/ops/cpu/strassen.h"

#include <algorithm>
#include <array>

namespace crope::ops::cpu {
namespace {

// A block of 2 x 2, with a sign.
struct Block {
  int row, column;
  float sign;
};
struct Blocks {
  std::array<Block, 2> block;
  int count;
};
constexpr Blocks one(int row, int column) {
  return {{{{row, column, 1}, {}}}, 1};
}
constexpr Blocks two(int row, int column, float sign, int other_row, int other_column) {
  return {{{{row, column, 1}, {other_row, other_column, sign}}}, 2};
}

struct Step {
  Blocks left, right, targets;
};
constexpr std::array<Step, 7> kSteps = {{
    {two(0, 0, +1, 1, 1), two(0, 0, +1, 1, 1), two(0, 0, +1, 1, 1)},
    {two(1, 0, +1, 1, 1), one(0, 0), two(1, 0, -1, 1, 1)},
    {one(0, 0), two(0, 1, -1, 1, 1), two(0, 1, +1, 1, 1)},
    {one(1, 1), two(1, 0, -1, 0, 0), two(0, 0, +1, 1, 0)},
    {two(0, 0, +1, 0, 1), one(1, 1), two(0, 1, -1, 0, 0)},
    {two(1, 0, -1, 0, 0), two(0, 0, +1, 0, 1), one(1, 1)},
    {two(0, 1, -1, 1, 1), two(1, 0, +1, 1, 1), one(0, 0)},
}};

// The sum of blocks of a sum of matrices [rows, columns].
MatrixSum blocks_of(const MatrixSum& x, const Blocks& blocks, std::int64_t rows, std::int64_t columns) {
  MatrixSum sum{.stride = x.stride, .transposed = x.transposed};
  sum.count = 0;
  for (int b = 0; b < blocks.count; ++b) {
    const Block& block = blocks.block[b];
    const std::int64_t row = block.row * rows / 2, column = block.column * columns / 2;
    const std::int64_t offset = x.transposed ? column * x.stride + row : row * x.stride + column;
    for (int t = 0; t < x.count; ++t) {
      const MatrixSum::Term term = t == 0 ? MatrixSum::Term{x.first, 1} : x.others[t - 1];
      if (sum.count == 0) {
        sum.first = term.data + offset;
      } else {
        sum.others[sum.count - 1] = {term.data + offset, term.sign * block.sign};
      }
      ++sum.count;
    }
  }
  return sum;
}

}  // namespace

bool strassen_pays(std::int64_t m, std::int64_t n, std::int64_t k) {
  return std::min({m, n, k}) >= 768;
}

std::vector<SumProduct> strassen(std::int64_t m, std::int64_t n, std::int64_t target_stride,
                                 std::span<const SumProduct> products) {
  std::vector<SumProduct> result;
  std::array<std::array<bool, 2>, 2> written{};  // which blocks of the targets
  for (const Step& step : kSteps) {
    for (const SumProduct& product : products) {
      SumProduct part{.k = product.k / 2,
                      .a = blocks_of(product.a, step.left, m, product.k),
                      .b = blocks_of(product.b, step.right, product.k, n)};
      part.target_count = 0;
      for (int b = 0; b < step.targets.count; ++b) {
        const auto& [row, column, sign] = step.targets.block[b];
        for (int t = 0; t < product.target_count; ++t) {
          const ProductTarget& target = product.targets[t];
          part.targets[part.target_count++] = {.data = target.data + row * m / 2 * target_stride + column * n / 2,
                                               .sign = target.sign * sign,
                                               .add = target.add || written[row][column]};
        }
      }
      result.push_back(part);
    }
    for (int b = 0; b < step.targets.count; ++b)
      written[step.targets.block[b].row][step.targets.block[b].column] = true;
  }
  return result;
}

}  // namespace crope::ops::cpu
