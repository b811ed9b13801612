#include "crope/ops/cpu/multiply.h"

#include <algorithm>
#include <vector>

#include "crope/base/parallel.h"
#include "crope/ops/cpu/kernels.h"
#include "crope/ops/cpu/scratch.h"
#include "crope/ops/cpu/strassen.h"

namespace crope::ops::cpu {
namespace {

void run(const TargetShape& shape, std::span<const SumProduct> products, ResultPart part = ResultPart::whole) {
  constexpr double kFlopsForThreads = 1 << 20;
  double flops = 0;
  for (const SumProduct& product : products) flops += 2.0 * static_cast<double>(shape.m * shape.n * product.k);
  const int threads = flops < kFlopsForThreads ? 1 : thread_count();
  SumProductRun work(shape.m, shape.n, shape.stride, products, threads, part);
  const Scratch shared(work.shared_floats());
  work.set_shared(shared.data());
  if (threads == 1) return work.work();
  parallel_items(threads, [&](std::int64_t, std::int64_t) { work.work(); });
}

// The same product without its first rows, columns and terms.
SumProduct rest_of(SumProduct product, const TargetShape& shape, std::int64_t row, std::int64_t column,
                   std::int64_t term) {
  const auto skip = [](MatrixSum& x, std::int64_t i, std::int64_t j) {
    const std::int64_t offset = x.transposed ? j * x.stride + i : i * x.stride + j;
    x.first += offset;
    for (int t = 1; t < x.count; ++t) x.others[t - 1].data += offset;
  };
  skip(product.a, row, term);
  skip(product.b, term, column);
  for (int t = 0; t < product.target_count; ++t) {
    product.targets[t].data += row * shape.stride + column;
    product.targets[t].add = product.targets[t].add || term > 0;
  }
  product.k -= term;
  return product;
}

// Strassen's scheme takes what is even; an odd row, column or term is left to plain products.
void run_by_blocks(const TargetShape& shape, std::span<const SumProduct> products) {
  const std::int64_t m = shape.m / 2 * 2, n = shape.n / 2 * 2;
  std::vector<SumProduct> even(products.begin(), products.end());
  for (SumProduct& product : even) product.k -= product.k % 2;
  run({m / 2, n / 2, shape.stride}, strassen(m, n, shape.stride, even));
  for (const SumProduct& product : products) {
    const auto run_rest = [&](std::int64_t row, std::int64_t row_end, std::int64_t column, std::int64_t column_end,
                              std::int64_t term) {
      if (row == row_end || column == column_end || term == product.k) return;
      const SumProduct rest = rest_of(product, shape, row, column, term);
      run({row_end - row, column_end - column, shape.stride}, std::span(&rest, 1));
    };
    run_rest(0, m, 0, n, product.k / 2 * 2);
    run_rest(m, shape.m, 0, shape.n, 0);
    run_rest(0, m, n, shape.n, 0);
  }
}

}  // namespace

void multiply(const TargetShape& shape, std::span<const SumProduct> products, ResultPart part) {
  const bool large = std::ranges::all_of(
      products, [&](const SumProduct& product) { return strassen_pays(shape.m, shape.n, product.k); });
  if (large && part == ResultPart::whole) return run_by_blocks(shape, products);
  run(shape, products, part);
}

void multiply(const ProductList& call) {
  multiply(call.shape, call.products);
}

std::int64_t least_gauss_pairs() {
  return product_tile().gauss_pairs;
}

}  // namespace crope::ops::cpu
