#include "crope/ops/products.h"

#include <ATen/ATen.h>
#include <ATen/Parallel.h>

#include <algorithm>

#include "crope/ops/cpu/strassen.h"
#include "crope/ops/cpu/sum_product.h"
#include "crope/ops/fused.h"

namespace crope::ops {
namespace {

using torch::Tensor;

Tensor sum_of(const std::vector<SignedMatrix>& terms) {
  if (terms.size() == 1) return terms[0].matrix;
  return at::add(terms[0].matrix, terms[1].matrix, terms[1].sign);
}

void multiply_by_aten(const Product& product) {
  const Tensor left = sum_of(product.left), right = sum_of(product.right);
  if (product.targets.size() == 1) {
    const auto& [matrix, sign, add] = product.targets.front();
    Tensor target = matrix;
    if (add || sign != 1) {
      target.addmm_(left, right, add ? 1 : 0, sign);
    } else {
      at::mm_out(target, left, right);
    }
    return;
  }
  const Tensor value = left.mm(right);
  for (const auto& [matrix, sign, add] : product.targets) {
    Tensor target = matrix;
    if (add) {
      target.add_(value, sign);
    } else {
      target.copy_(value).mul_(sign);
    }
  }
}

// Whether rows stand one after the other in memory, each without gaps: not so where a tensor is expanded.
bool is_in_rows(const Tensor& x) {
  return (x.stride(1) == 1 || x.size(1) == 1) && (x.stride(0) >= x.size(1) || x.size(0) == 1);
}

// A list of products as the kernels take it, and the copies that it needs of operands with unusual strides.
class KernelProducts {
 public:
  explicit KernelProducts(std::span<const Product> products) {
    for (const Product& product : products) {
      cpu::SumProduct call{.k = product.left.front().matrix.size(1),
                           .a = sum_of_matrices(product.left),
                           .b = sum_of_matrices(product.right)};
      call.target_count = static_cast<int>(product.targets.size());
      for (std::size_t i = 0; i < product.targets.size(); ++i) {
        const auto& [matrix, sign, add] = product.targets[i];
        call.targets[i] = {matrix.data_ptr<float>(), sign, add};
      }
      calls_.push_back(call);
    }
  }

  std::span<const cpu::SumProduct> calls() const { return calls_; }

 private:
  cpu::MatrixSum sum_of_matrices(const std::vector<SignedMatrix>& terms) {
    const Tensor& first = terms.front().matrix;
    const auto fits = [&](const SignedMatrix& term) { return term.matrix.strides() == first.strides(); };
    const bool alike = std::ranges::all_of(terms, fits);
    const bool rows = is_in_rows(first), columns = is_in_rows(first.t()), copied = !alike || (!rows && !columns);
    cpu::MatrixSum sum;
    sum.count = static_cast<int>(terms.size());
    sum.transposed = !copied && !rows;
    for (std::size_t i = 0; i < terms.size(); ++i) {
      const Tensor matrix = copied ? copies_.emplace_back(terms[i].matrix.contiguous()) : terms[i].matrix;
      sum.stride = std::max(matrix.stride(sum.transposed ? 1 : 0), matrix.size(sum.transposed ? 0 : 1));
      if (i == 0) {
        sum.first = matrix.const_data_ptr<float>();
      } else {
        sum.others[i - 1] = {matrix.const_data_ptr<float>(), terms[i].sign};
      }
    }
    return sum;
  }

  std::vector<Tensor> copies_;
  std::vector<cpu::SumProduct> calls_;
};

TargetShape shape_of(const Product& product) {
  const Tensor& target = product.targets.front().matrix;
  return {target.size(0), target.size(1), std::max(target.stride(0), target.size(1))};
}

void run(const TargetShape& shape, std::span<const cpu::SumProduct> calls,
         cpu::ResultPart part = cpu::ResultPart::whole) {
  constexpr double kFlopsForThreads = 1 << 20;
  double flops = 0;
  for (const cpu::SumProduct& call : calls) flops += 2.0 * static_cast<double>(shape.m * shape.n * call.k);
  const int threads = flops < kFlopsForThreads || at::in_parallel_region() ? 1 : at::get_num_threads();
  cpu::SumProductRun work(shape.m, shape.n, shape.stride, calls, threads, part);
  const Tensor shared = at::empty({work.shared_floats()}, torch::kFloat32);
  work.set_shared(shared.data_ptr<float>());
  if (threads == 1) return work.work();
  at::parallel_for(0, threads, 1, [&](int64_t, int64_t) { work.work(); });
}

// The same product of a part of its rows, columns and terms.
cpu::SumProduct part_of(cpu::SumProduct call, const TargetShape& shape, int64_t row, int64_t column, int64_t term) {
  const auto skip = [](cpu::MatrixSum& x, int64_t i, int64_t j) {
    const int64_t offset = x.transposed ? j * x.stride + i : i * x.stride + j;
    x.first += offset;
    for (int t = 1; t < x.count; ++t) x.others[t - 1].data += offset;
  };
  skip(call.a, row, term);
  skip(call.b, term, column);
  for (int t = 0; t < call.target_count; ++t) {
    call.targets[t].data += row * shape.stride + column;
    call.targets[t].add = call.targets[t].add || term > 0;
  }
  call.k -= term;
  return call;
}

// Strassen's scheme takes what is even; an odd row, column or term is left to plain products.
void run_by_blocks(const TargetShape& shape, std::span<const cpu::SumProduct> calls) {
  const int64_t m = shape.m / 2 * 2, n = shape.n / 2 * 2;
  std::vector<cpu::SumProduct> even(calls.begin(), calls.end());
  for (cpu::SumProduct& call : even) call.k -= call.k % 2;
  run({m / 2, n / 2, shape.stride}, cpu::strassen(m, n, shape.stride, even));
  for (const cpu::SumProduct& call : calls) {
    const auto run_rest = [&](int64_t row, int64_t row_end, int64_t column, int64_t column_end, int64_t term) {
      if (row == row_end || column == column_end || term == call.k) return;
      const cpu::SumProduct rest = part_of(call, shape, row, column, term);
      run({row_end - row, column_end - column, shape.stride}, std::span(&rest, 1));
    };
    run_rest(0, m, 0, n, call.k / 2 * 2);
    run_rest(m, shape.m, 0, shape.n, 0);
    run_rest(0, m, n, shape.n, 0);
  }
}

bool has_kernel(const Product& product) {
  const auto fused = [](const SignedMatrix& term) { return fused_for({term.matrix}); };
  return cpu::product_kernels_pay() && std::ranges::all_of(product.left, fused) &&
         std::ranges::all_of(product.right, fused) &&
         std::ranges::all_of(product.targets, [&](const Product::Target& target) {
           const Tensor& matrix = target.matrix;
           return fused_for({matrix}) && is_in_rows(matrix) &&
                  matrix.strides() == product.targets.front().matrix.strides();
         });
}

}  // namespace

void multiply(std::span<const Product> products) {
  while (!products.empty()) {
    std::size_t count = 1;
    if (!has_kernel(products.front())) {
      multiply_by_aten(products.front());
    } else {
      const TargetShape shape = shape_of(products.front());
      while (count < products.size() && has_kernel(products[count]) && shape_of(products[count]) == shape) ++count;
      multiply(shape, KernelProducts(products.first(count)).calls());
    }
    products = products.subspan(count);
  }
}

void multiply(const TargetShape& shape, std::span<const cpu::SumProduct> products, cpu::ResultPart part) {
  const bool large = std::ranges::all_of(
      products, [&](const cpu::SumProduct& product) { return cpu::strassen_pays(shape.m, shape.n, product.k); });
  if (large && part == cpu::ResultPart::whole) return run_by_blocks(shape, products);
  run(shape, products, part);
}

void multiply(const Tensor& target, const Tensor& left, const Tensor& right, bool add) {
  const Product product{{{left}}, {{right}}, {{target, 1, add}}};
  multiply(std::span(&product, 1));
}

}  // namespace crope::ops
