#include "crope/analysis/function_space.h"

#include <ATen/ATen.h>

#include <cmath>

#include "crope/model/folded_gains.h"
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
                               const model::SurroundingGains& gains) {
  const Tensor dense = ops::dense_matrix(projection).detach();
  const Tensor folded = model::fold_gains(dense, gains);
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

std::vector<ProjectionEnergies> projection_energies(const model::Transformer& model) {
  std::vector<ProjectionEnergies> all;
  for (std::size_t i = 0; i < model.blocks.size(); ++i) {
    const auto layer = static_cast<std::int64_t>(i);
    const model::Attention& attention = model.blocks[i].attention;
    for (const std::size_t j : {0u, 1u, 2u}) {
      const char name = "qkv"[j];
      all.push_back(energies_of(layer, name, attention.qkv[j], model::surrounding_gains(model, layer, name)));
    }
    all.push_back(energies_of(layer, 'o', attention.o, {}));
  }
  return all;
}

}  // namespace crope::analysis
