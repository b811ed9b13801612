#include "crope/ops/annealed_weight.h"

#include <ATen/ATen.h>

#include "crope/ops/check.h"

namespace crope::ops {

using torch::Tensor;

// V conj(x) is V times [x_re, -x_im]: the right half of V's matrix changes its sign.
Tensor annealed_matrix(const AnnealedWeight& weight) {
  const auto& [a, b] = weight.linear;
  const Tensor ca = weight.conjugate.a * weight.scale, cb = weight.conjugate.b * weight.scale;
  return at::cat({at::cat({a + ca, b - cb}, 1), at::cat({-b - cb, a - ca}, 1)}, 0);
}

AnnealedWeight split(const Tensor& dense) {
  check_shape(dense.dim() == 2 && dense.size(0) % 2 == 0 && dense.size(1) % 2 == 0, "split", "dense", "[2M, 2N]",
              dense);
  const std::vector<Tensor> rows = dense.chunk(2, 0);
  const Halves top = halves_of(rows[0]), bottom = halves_of(rows[1]);
  return {.linear = contract(dense),
          .conjugate = {.a = (top.re - bottom.im) / 2, .b = (top.im + bottom.re) / -2},
          .scale = 1};
}

}  // namespace crope::ops
