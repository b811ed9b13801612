#include "crope/ops/products.h"

#include <ATen/ATen.h>

#include <algorithm>

#include "crope/ops/device.h"

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
      SumProduct call{.k = product.left.front().matrix.size(1),
                      .a = sum_of_matrices(product.left),
                      .b = sum_of_matrices(product.right)};
      call.target_count = static_cast<int>(product.targets.size());
      for (std::size_t i = 0; i < product.targets.size(); ++i) {
        const auto& [matrix, sign, add] = product.targets[i];
        call.targets[i] = {mutable_view(matrix).data, sign, add};
      }
      products_.push_back(call);
    }
  }

  std::span<const SumProduct> products() const { return products_; }

 private:
  MatrixSum sum_of_matrices(const std::vector<SignedMatrix>& terms) {
    const Tensor& first = terms.front().matrix;
    const auto fits = [&](const SignedMatrix& term) { return term.matrix.strides() == first.strides(); };
    const bool alike = std::ranges::all_of(terms, fits);
    const bool rows = is_in_rows(first), columns = is_in_rows(first.t()), copied = !alike || (!rows && !columns);
    MatrixSum sum;
    sum.count = static_cast<int>(terms.size());
    sum.transposed = !copied && !rows;
    for (std::size_t i = 0; i < terms.size(); ++i) {
      const Tensor matrix = copied ? copies_.emplace_back(terms[i].matrix.contiguous()) : terms[i].matrix;
      sum.stride = std::max(matrix.stride(sum.transposed ? 1 : 0), matrix.size(sum.transposed ? 0 : 1));
      if (i == 0) {
        sum.first = view(matrix).data;
      } else {
        sum.others[i - 1] = {view(matrix).data, terms[i].sign};
      }
    }
    return sum;
  }

  std::vector<Tensor> copies_;
  std::vector<SumProduct> products_;
};

TargetShape shape_of(const Product& product) {
  const Tensor& target = product.targets.front().matrix;
  return {target.size(0), target.size(1), std::max(target.stride(0), target.size(1))};
}

// The kernel for a product, null where there is none.
auto kernel_for(const Product& product) {
  auto kernel = kernels_for({product.targets.front().matrix}).multiply;
  const auto& first = product.targets.front().matrix;
  const auto fits = [&](const Tensor& x) { return kernels_for({first, x}).multiply != nullptr; };
  const bool has_kernel =
      std::ranges::all_of(product.left, fits, &SignedMatrix::matrix) &&
      std::ranges::all_of(product.right, fits, &SignedMatrix::matrix) &&
      std::ranges::all_of(product.targets, [&](const Product::Target& target) {
        return fits(target.matrix) && is_in_rows(target.matrix) && target.matrix.strides() == first.strides();
      });
  return has_kernel ? kernel : nullptr;
}

}  // namespace

void multiply(std::span<const Product> products) {
  while (!products.empty()) {
    std::size_t count = 1;
    if (const auto kernel = kernel_for(products.front()); kernel == nullptr) {
      multiply_by_aten(products.front());
    } else {
      const TargetShape shape = shape_of(products.front());
      while (count < products.size() && kernel_for(products[count]) == kernel && shape_of(products[count]) == shape) {
        ++count;
      }
      const KernelProducts list(products.first(count));
      kernel({shape, list.products()});
    }
    products = products.subspan(count);
  }
}

void multiply(const Tensor& target, const Tensor& left, const Tensor& right, bool add) {
  const Product product{{{left}}, {{right}}, {{target, 1, add}}};
  multiply(std::span(&product, 1));
}

}  // namespace crope::ops
