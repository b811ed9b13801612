#include "crope/model/complex_structure.h"

#include <ATen/ATen.h>

#include <cmath>
#include <tuple>

#include "crope/ops/check.h"

namespace crope::model {
namespace {

using torch::Tensor;

constexpr double kNothing = 1e-10;  // of the largest singular value: directions that no row tells apart

struct RowPairs {
  Tensor u, v;  // [M, D] in fp64
};

RowPairs row_pairs(const Tensor& matrix, const char* caller) {
  ops::check_shape(matrix.dim() == 2 && matrix.size(0) % 2 == 0, caller, "matrix", "[2M, D]", matrix);
  const Tensor wide = matrix.detach().to(at::kDouble);
  const int64_t M = wide.size(0) / 2;
  return {wide.narrow(0, 0, M), wide.narrow(0, M, M)};
}

void check_square(const Tensor& matrix, const char* caller, const char* name) {
  const bool fits = matrix.dim() == 2 && matrix.size(0) == matrix.size(1) && matrix.size(0) % 2 == 0;
  ops::check_shape(fits && matrix.size(0) > 0, caller, name, "[D, D], D even", matrix);
}

// i K as a Hermitian matrix, for an antisymmetric K.
Tensor times_i(const Tensor& antisymmetric) {
  return at::complex(at::zeros_like(antisymmetric), antisymmetric);
}

}  // namespace

Tensor given_structure(std::int64_t D) {
  const int64_t N = D / 2;
  const Tensor J = at::zeros({D, D}, at::kDouble);
  J.narrow(0, N, N).narrow(1, 0, N).fill_diagonal_(1);
  J.narrow(0, 0, N).narrow(1, N, N).fill_diagonal_(-1);
  return J;
}

Tensor orientation(const Tensor& matrix) {
  const auto [u, v] = row_pairs(matrix, "orientation");
  const Tensor product = u.t().mm(v);
  return (product - product.t()) / 2;
}

double best_agreement(const Tensor& orientation) {
  // Singular values of S are the absolute eigenvalues of i S. Here this takes a ninth of the time of linalg_svdvals.
  return std::get<0>(at::linalg_eigh(times_i(orientation))).abs().sum().item<double>();
}

Tensor best_structure(const Tensor& orientation) {
  check_square(orientation, "best_structure", "orientation");
  const int64_t D = orientation.size(0);
  // i S has real eigenvalues in pairs, with conjugate vectors x. On those of the positive ones the polar factor of -S
  // multiplies by i: J = i (X X* - conj(X X*)) = -2 Im(X X*).
  const auto [values, vectors] = at::linalg_eigh(times_i(orientation));
  const double largest = values[D - 1].item<double>();
  const int64_t rank = largest > 0 ? values.gt(kNothing * largest).sum().item<int64_t>() : 0;
  const Tensor X = vectors.narrow(1, D - rank, rank);
  const Tensor projector = X.mm(X.conj().t());
  Tensor J = -2 * at::imag(projector);
  if (2 * rank < D) {
    const Tensor rest = at::eye(D, at::kDouble) - 2 * at::real(projector);
    const Tensor basis = std::get<1>(at::linalg_eigh(rest)).narrow(1, 2 * rank, D - 2 * rank);
    J = J + basis.mm(given_structure(D - 2 * rank)).mm(basis.t());
  }
  return J;
}

Tensor turn_to_given(const Tensor& structure) {
  check_square(structure, "turn_to_given", "structure");
  const int64_t N = structure.size(0) / 2;
  // -i J has the eigenvalues -1 and 1. Where J x = i x, the real and imaginary parts of x, times the square root of
  // two, are unit vectors e and -J e.
  const Tensor X = std::get<1>(at::linalg_eigh(times_i(-structure))).narrow(1, N, N).t();
  return std::sqrt(2.0) * at::cat({at::real(X), -at::imag(X)});
}

Tensor agreements(const Tensor& matrix, const Tensor& structure) {
  const auto [u, v] = row_pairs(matrix, "agreements");
  return (u.mm(structure.t()) * v).sum(1);
}

Tensor complex_linear_part(const Tensor& matrix, const Tensor& structure) {
  const auto [u, v] = row_pairs(matrix, "complex_linear_part");
  const Tensor re = (u - v.mm(structure.t())) / 2;
  return at::cat({re, re.mm(structure.t())});
}

}  // namespace crope::model
