#include "crope/analysis/function_space.h"

#include <ATen/ATen.h>

#include <cmath>

#include "crope/model/norm_gain.h"
#include "crope/ops/check.h"

namespace crope::analysis {
namespace {

using torch::Tensor;

double squared_norm(const Tensor& x) {
  return x.square().sum(at::kDouble).item<double>();
}

// The quarters [[re_re, re_im], [im_re, im_im]] of a matrix in halves.
struct Quarters {
  Tensor re_re, re_im, im_re, im_im;
};

Quarters quarters_of(const Tensor& dense) {
  const int64_t M = dense.size(0) / 2, N = dense.size(1) / 2;
  const auto part = [&](int64_t row, int64_t column) { return dense.narrow(0, row * M, M).narrow(1, column * N, N); };
  return {part(0, 0), part(0, 1), part(1, 0), part(1, 1)};
}

ProjectionEnergies energies_of(std::int64_t layer, char name, const ops::Weight& projection,
                               const SurroundingGains& gains) {
  const Tensor dense = ops::dense_matrix(projection).detach();
  const Tensor folded = fold_gains(dense, gains);
  return {.layer = layer,
          .projection = name,
          .tied = std::holds_alternative<ops::ComplexWeight>(projection),
          .rows = dense.size(0),
          .columns = dense.size(1),
          .squared_norm = squared_norm(dense.to(at::kDouble)),
          .energies = pauli_energies(dense),
          .effective_squared_norm = squared_norm(folded),
          .effective = pauli_energies(folded)};
}

}  // namespace

PauliEnergies pauli_energies(const Tensor& dense) {
  ops::check_shape(dense.dim() == 2 && dense.size(0) % 2 == 0 && dense.size(1) % 2 == 0, "pauli_energies", "dense",
                   "[2M, 2N]", dense);
  const Quarters w = quarters_of(dense.to(at::kDouble));
  // A block is a s0 + c s1 + b s2 + d s3 = [[a + d, b + c], [c - b, a - d]], and each of the four has the norm sqrt(2).
  const auto energy = [](const Tensor& twice_coefficient) { return squared_norm(twice_coefficient) / 2; };
  return {.sigma = {energy(w.re_re + w.im_im), energy(w.re_im + w.im_re), energy(w.re_im - w.im_re),
                    energy(w.re_re - w.im_im)}};
}

RandomShare random_share(std::int64_t rows, std::int64_t columns) {
  // Both parts are sums of n = rows columns/2 squares, so the share has the distribution Beta(n/2, n/2).
  const double n = static_cast<double>(rows) * static_cast<double>(columns) / 2;
  return {.deviation = 1 / (2 * std::sqrt(n + 1))};
}

Tensor fold_gains(const Tensor& dense, const SurroundingGains& gains) {
  ops::check_shape(dense.dim() == 2 && dense.size(0) % 2 == 0, "fold_gains", "dense", "[2M, 2N]", dense);
  Tensor folded = dense.detach().to(at::kDouble);
  if (gains.head.defined()) {
    const Tensor& head = gains.head;
    const bool fits = head.dim() == 1 && head.size(0) > 0 && head.size(0) % 2 == 0 && dense.size(0) % head.size(0) == 0;
    ops::check_shape(fits, "fold_gains", "gains.head", "[K], K even and a divisor of 2M", head);
    // Rows are the real parts of all heads, then the imaginary parts of all heads.
    const Tensor rows = head.detach().view({2, 1, -1}).expand({2, dense.size(0) / head.size(0), -1});
    folded = folded * rows.reshape({-1, 1});
  }
  if (gains.input.defined()) {
    const Tensor& input = gains.input;
    ops::check_shape(input.dim() == 1 && input.size(0) == dense.size(1), "fold_gains", "gains.input", "[2N]", input);
    folded = folded * input.detach();
  }
  return folded;
}

std::vector<ProjectionEnergies> projection_energies(const model::Transformer& model) {
  std::vector<ProjectionEnergies> all;
  for (std::size_t i = 0; i < model.blocks.size(); ++i) {
    const auto layer = static_cast<std::int64_t>(i);
    const model::Attention& attention = model.blocks[i].attention;
    const std::int64_t K = model.config.qk_width();
    const Tensor input = model::expand_gain(model.blocks[i].attention_norm, model.config.d_model);
    all.push_back(energies_of(layer, 'q', attention.qkv[0], {input, model::expand_gain(attention.q_norm, K)}));
    all.push_back(energies_of(layer, 'k', attention.qkv[1], {input, model::expand_gain(attention.k_norm, K)}));
    all.push_back(energies_of(layer, 'v', attention.qkv[2], {input, {}}));
    all.push_back(energies_of(layer, 'o', attention.o, {}));
  }
  return all;
}

double best_linear_share(const std::vector<Tensor>& matrices) {
  // With u and v the two rows of a pair, W is complex-linear where v = u J. The share of that part is
  // 1/2 + sum(u J v')/|W|^2, linear in J; over orthogonal antisymmetric J the largest value of the sum is the nuclear
  // norm of the antisymmetric part of sum(u' v).
  Tensor products;
  double total = 0;
  for (const Tensor& matrix : matrices) {
    ops::check_shape(matrix.dim() == 2 && matrix.size(0) % 2 == 0, "best_linear_share", "matrix", "[2M, D]", matrix);
    const Tensor w = matrix.to(at::kDouble);
    const int64_t M = w.size(0) / 2;
    const Tensor product = w.narrow(0, 0, M).t().mm(w.narrow(0, M, M));
    products = products.defined() ? products + product : product;
    total += squared_norm(w);
  }
  if (!products.defined() || total == 0) return 0;
  const double largest = at::linalg_svdvals((products - products.t()) / 2).sum().item<double>();
  return 0.5 + largest / total;
}

}  // namespace crope::analysis
