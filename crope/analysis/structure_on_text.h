// The conjugate-linear part of queries and keys on real text: its share of their energy, and the loss without it. Every
// layer is measured under the structure of the layers of the other parity, so that none is measured with a structure
// that was fitted to it.
#pragma once

#include <torch/types.h>

#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "crope/analysis/shared_structure.h"
#include "crope/base/log.h"

namespace crope::analysis {

// The conjugate-linear share of the energy of a layer's queries (keys, values) on text.
struct TextShare {
  std::int64_t layer;
  double all = 0;
  std::array<double, kQuarters> by_quarter{};
};

struct ProjectionOnText {
  char projection;
  double all = 0;  // the mean over the layers
  std::array<double, kQuarters> by_quarter{};
  std::vector<TextShare> layers;
};

// The difference of the loss in nats per token, and its standard error over the tokens.
struct LossDifference {
  double mean = 0;
  double error = 0;
};

// The conjugate-linear part of a projection is removed in a quarter of the frequencies of all layers, or in all four.
struct Removal {
  char projection;
  int quarter;                   // kQuarters: all
  double removed = 0;            // share of the energy of the rows concerned
  LossDifference loss;           // to the model as it is
  double removed_at_random = 0;  // likewise with a random structure
  LossDifference loss_at_random;
};

struct StructureOnText {
  std::int64_t tokens = 0;                    // that were predicted
  double loss = 0;                            // of the model as it is
  std::vector<ProjectionOnText> projections;  // q, k and v
  std::vector<Removal> removals;              // of q and k
};

struct TextOptions {
  std::int64_t tokens = 2048;  // at most
  std::int64_t window = 512;   // at most: tokens that one forward pass predicts
  std::uint64_t seed = 0;      // of the random structure
};

// `structures` comes from shared_structures of this model. Progress goes to `log`.
// Throws UsageError if the model has one layer, or `ids` fewer than two tokens. REQUIRES: 0 <= ids < V.
StructureOnText structure_on_text(const model::Transformer& model,
                                  const std::vector<StructureOfProjections>& structures,
                                  const std::vector<std::int32_t>& ids, const TextOptions& options, Log& log);

}  // namespace crope::analysis
