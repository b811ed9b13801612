// Complex-linear projection on real tensors.
//
// Features are complex numbers stored as halves, z_p = x[p] + i x[N+p]. Each 2x2 block of the layer's matrix is
// [[a, b], [-b, a]], so the layer multiplies by a - ib: half the parameters of a dense layer, and three quarters
// of its multiplications (docs/mathematics.md, section 2).
#pragma once

#include <torch/types.h>

#include <array>
#include <span>
#include <vector>

#include "crope/ops/products.h"

namespace crope::ops {

// The weights of one tied layer: a[M, N] and b[M, N].
struct ComplexWeight {
  torch::Tensor a;
  torch::Tensor b;
};

// y[..., 2M] from x[..., 2N]. Differentiable in x, a and b.
// Throws Error if the shapes disagree.
torch::Tensor block_linear(const torch::Tensor& x, const ComplexWeight& weight);

// Several layers on the same input, as Q, K and V are: the sums over x are made once, and so is its gradient.
// The M of the layers may differ.
std::vector<torch::Tensor> block_linear(const torch::Tensor& x, std::span<const ComplexWeight> weights);

// Views of the real and the imaginary half of the last dimension.
struct Halves {
  torch::Tensor re, im;
};
Halves halves_of(const torch::Tensor& x);

// Gauss's scheme: out = in (a - ib), or in (a + ib), by three real products of half the width instead of four. a and b
// are right operands, [N, M] for in[R, N] and out[R, M]. The sums are formed by the products on their way.
enum class ComplexFactor { a_minus_ib, a_plus_ib };
std::array<Product, 3> complex_products(const Halves& in, const torch::Tensor& a, const torch::Tensor& b,
                                        ComplexFactor factor, const Halves& out, bool add);

// The dense [2M, 2N] matrix W with block_linear(x, weight) == x W^T, for export and for tests.
torch::Tensor expand(const ComplexWeight& weight);

// The pair nearest to the dense matrix W[2M, 2N] in the least-squares sense: contract(expand(w)) == w.
ComplexWeight contract(const torch::Tensor& dense);

}  // namespace crope::ops
