#include "crope/ops/symmetric_product.h"

#include <ATen/ATen.h>

#include <algorithm>

#include "crope/base/rounding.h"
#include "crope/ops/check.h"

namespace crope::ops {
namespace {

using torch::Tensor;

// Four panels need 10 of 16 blocks; narrower ones than this cost more in speed of the product than they save.
constexpr int64_t kPanels = 4;
constexpr int64_t kNarrowestPanel = 128;

}  // namespace

Tensor symmetric_product(const Tensor& x) {
  check_shape(x.dim() == 2, "symmetric_product", "x", "[R, C]", x);
  const int64_t R = x.size(0);
  const int64_t height = std::max(divide_up(R, kPanels), kNarrowestPanel);
  Tensor product = at::empty({R, R}, x.options());
  for (int64_t row = 0; row < R; row += height) {
    const int64_t rows = std::min(height, R - row);
    // One product for the panel's whole row of blocks, up to and with the diagonal one.
    Tensor blocks = product.narrow(0, row, rows).narrow(1, 0, row + rows);
    at::mm_out(blocks, x.narrow(0, row, rows), x.narrow(0, 0, row + rows).t());
    if (row > 0) product.narrow(1, row, rows).narrow(0, 0, row).copy_(blocks.narrow(1, 0, row).t());
    // Rounding inside the diagonal block depends on the order of summation.
    Tensor diagonal = blocks.narrow(1, row, rows);
    diagonal.copy_((diagonal + diagonal.t()).mul_(0.5));
  }
  return product;
}

}  // namespace crope::ops
