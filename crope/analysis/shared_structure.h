// The complex structure of the residual stream that a model's layers share (docs/mathematics.md, section 10): under
// which J its queries and keys are most complex-linear, how much of that is chance, and whether layers agree.
#pragma once

#include <torch/types.h>

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "crope/model/transformer.h"

namespace crope::analysis {

// Pairs of rows in four groups, from the fastest quarter of the rotary frequencies to the slowest. V is not rotated:
// its pairs are grouped by their place in the head.
inline constexpr std::size_t kQuarters = 4;

// A complex-linear share of the energy of rows under a structure that was not fitted to them: chance gives one half.
struct HeldOutShare {
  double share = 0;
  double deviation = 0;  // the standard deviation if each imaginary row had a random sign
};

struct LayerShare {
  std::int64_t layer;
  HeldOutShare all;
  std::vector<double> by_frequency;  // K/2 shares, fastest first
};

struct StructureOfProjections {
  std::string projections;  // "q", "k", "v", or "qk": the rows of both
  double given_share = 0;   // in the coordinates as they are
  double best_share = 0;    // under the best structure of all layers, which is fitted to what it is measured on
  std::array<double, kQuarters> best_by_quarter{};
  // best_share of the same rows with signs of imaginary rows by coin flips: as large, as singular, without orientation.
  double null_mean = 0;
  double null_deviation = 0;  // of one round of flips
  // The structure of the even layers, measured on the odd ones. Absent from a model of one layer.
  std::optional<HeldOutShare> held_out;
  std::array<HeldOutShare, kQuarters> held_out_by_quarter{};
  // Every layer under the structure of the layers of the other parity; empty for a model of one layer.
  std::vector<LayerShare> layers;
  torch::Tensor structure;                 // J[D, D] of all layers, fp64
  std::array<torch::Tensor, 2> of_parity;  // of the even layers, of the odd ones; undefined for a model of one layer
};

struct StructureOptions {
  int null_rounds = 10;
  std::uint64_t seed = 0;
};

// The structures of Q, K, V and of Q with K, in this order, gains folded in.
std::vector<StructureOfProjections> shared_structures(const model::Transformer& model,
                                                      const StructureOptions& options = {});

// A structure without any relation to the model.
torch::Tensor random_structure(std::int64_t D, std::uint64_t seed);

// The first of the F frequencies that a quarter has.
constexpr std::int64_t first_frequency(std::size_t quarter, std::int64_t F) {
  return (static_cast<std::int64_t>(quarter) * F + static_cast<std::int64_t>(kQuarters) - 1) /
         static_cast<std::int64_t>(kQuarters);
}

}  // namespace crope::analysis
