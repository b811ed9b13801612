#include "crope/analysis/shared_structure.h"

#include <ATen/ATen.h>
#include <fmt/format.h>

#include <cmath>

#include "crope/base/random.h"
#include "crope/model/complex_structure.h"
#include "crope/model/folded_gains.h"

namespace crope::analysis {
namespace {

using torch::Tensor;

// One matrix [2M, D] a layer, its M pairs of rows in heads of F frequencies.
struct LayerRows {
  std::vector<Tensor> matrices;
  std::int64_t F = 0;
};

// What shares are made of, for each of F frequencies: sums over the pairs of rows.
struct Tally {
  Tensor energy, agreement, squared_agreement;  // [F]

  void add(const Tally& other) {
    if (!energy.defined()) {
      *this = other;
      return;
    }
    energy = energy + other.energy;
    agreement = agreement + other.agreement;
    squared_agreement = squared_agreement + other.squared_agreement;
  }

  HeldOutShare share(std::int64_t first, std::int64_t end) const {
    const auto sum = [&](const Tensor& x) { return x.narrow(0, first, end - first).sum().item<double>(); };
    const double total = sum(energy);
    if (!(total > 0)) return {.share = 0.5};
    return {.share = 0.5 + sum(agreement) / total, .deviation = std::sqrt(sum(squared_agreement)) / total};
  }
  HeldOutShare share() const { return share(0, energy.size(0)); }
  HeldOutShare quarter(std::size_t index) const {
    return share(first_frequency(index, energy.size(0)), first_frequency(index + 1, energy.size(0)));
  }
};

Tally tally(const Tensor& matrix, const Tensor& structure, std::int64_t F) {
  const auto by_frequency = [&](const Tensor& pairs) { return pairs.view({-1, F}).sum(0); };
  const Tensor agreement = model::agreements(matrix, structure);
  return {.energy = by_frequency(matrix.square().sum(1).view({2, -1}).sum(0)),
          .agreement = by_frequency(agreement),
          .squared_agreement = by_frequency(agreement.square())};
}

// The pairs of both matrices, one after the other.
Tensor joined(const Tensor& a, const Tensor& b) {
  const auto half = [](const Tensor& x, int64_t i) { return x.narrow(0, i * (x.size(0) / 2), x.size(0) / 2); };
  return at::cat({half(a, 0), half(b, 0), half(a, 1), half(b, 1)});
}

LayerRows rows_of(const model::Transformer& model, const std::string& projections) {
  LayerRows rows;
  for (std::int64_t layer = 0; layer < model.config.num_layers; ++layer) {
    Tensor matrix;
    for (const char projection : projections) {
      const Tensor next = model::folded_projection(model, layer, projection);
      matrix = matrix.defined() ? joined(matrix, next) : next;
    }
    rows.matrices.push_back(matrix);
  }
  rows.F = (projections == "v" ? model.config.v_width() : model.config.qk_width()) / 2;
  return rows;
}

// Of every `step`-th layer from `first`.
Tensor orientation_of(const LayerRows& rows, std::size_t first, std::size_t step) {
  Tensor sum = model::orientation(rows.matrices[first]);
  for (std::size_t i = first + step; i < rows.matrices.size(); i += step) {
    sum += model::orientation(rows.matrices[i]);
  }
  return sum;
}

void measure_null(const LayerRows& rows, const StructureOptions& options, StructureOfProjections& result) {
  Tensor all = rows.matrices.front();
  for (std::size_t i = 1; i < rows.matrices.size(); ++i) all = joined(all, rows.matrices[i]);
  const double energy = all.square().sum().item<double>();
  const std::int64_t M = all.size(0) / 2;
  RandomStream coins(options.seed, "analysis.coin_flips." + result.projections);
  double sum = 0, sum_of_squares = 0;
  for (int round = 0; round < options.null_rounds; ++round) {
    Tensor signs = at::ones({2 * M, 1}, at::kDouble);
    auto* sign = signs.mutable_data_ptr<double>();
    for (std::int64_t p = M; p < 2 * M; ++p) sign[p] = coins.below(2) == 0 ? 1 : -1;
    const double share = 0.5 + model::best_agreement(model::orientation(all * signs)) / energy;
    sum += share;
    sum_of_squares += share * share;
  }
  const double n = options.null_rounds;
  if (n < 1) return;
  result.null_mean = sum / n;
  result.null_deviation = n < 2 ? 0 : std::sqrt(std::max(0.0, (sum_of_squares - sum * sum / n) / (n - 1)));
}

void measure_held_out(const LayerRows& rows, StructureOfProjections& result) {
  if (rows.matrices.size() < 2) return;
  for (const std::size_t parity : {0u, 1u}) {
    result.of_parity[parity] = model::best_structure(orientation_of(rows, parity, 2));
  }
  Tally odd;
  for (std::size_t i = 0; i < rows.matrices.size(); ++i) {
    const Tally layer = tally(rows.matrices[i], result.of_parity[1 - i % 2], rows.F);
    LayerShare share{.layer = static_cast<std::int64_t>(i), .all = layer.share()};
    for (std::int64_t j = 0; j < rows.F; ++j) share.by_frequency.push_back(layer.share(j, j + 1).share);
    result.layers.push_back(std::move(share));
    if (i % 2 == 1) odd.add(layer);
  }
  result.held_out = odd.share();
  for (std::size_t quarter = 0; quarter < kQuarters; ++quarter) {
    result.held_out_by_quarter[quarter] = odd.quarter(quarter);
  }
}

StructureOfProjections structure_of(const model::Transformer& model, const std::string& projections,
                                    const StructureOptions& options) {
  const LayerRows rows = rows_of(model, projections);
  StructureOfProjections result{.projections = projections};
  result.structure = model::best_structure(orientation_of(rows, 0, 1));
  const Tensor given_structure = model::given_structure(model.config.d_model);
  Tally best, given;
  for (const Tensor& matrix : rows.matrices) {
    best.add(tally(matrix, result.structure, rows.F));
    given.add(tally(matrix, given_structure, rows.F));
  }
  result.given_share = given.share().share;
  result.best_share = best.share().share;
  for (std::size_t quarter = 0; quarter < kQuarters; ++quarter) {
    result.best_by_quarter[quarter] = best.quarter(quarter).share;
  }
  measure_null(rows, options, result);
  measure_held_out(rows, result);
  return result;
}

}  // namespace

std::vector<StructureOfProjections> shared_structures(const model::Transformer& model,
                                                      const StructureOptions& options) {
  const at::NoGradGuard no_grad;
  std::vector<StructureOfProjections> all;
  for (const char* projections : {"q", "k", "v", "qk"}) all.push_back(structure_of(model, projections, options));
  return all;
}

Tensor random_structure(std::int64_t D, std::uint64_t seed) {
  const RandomStream stream(seed, "analysis.random_structure");
  Tensor normal = at::empty({D, D}, at::kDouble);
  auto* values = normal.mutable_data_ptr<double>();
  for (std::int64_t i = 0; i < D * D; ++i) values[i] = stream.normal_at(static_cast<std::uint64_t>(i));
  const Tensor Q = std::get<0>(at::linalg_qr(normal));
  return Q.t().mm(model::given_structure(D)).mm(Q);
}

}  // namespace crope::analysis
