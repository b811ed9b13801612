// Models with a share of their weights set to zero.
//
// Magnitude pruning drops the smallest weights of each matrix. With text to calibrate on, Wanda's rule (Sun et al.
// 2023) drops in each row the weights with the smallest |w| ||x||, x the input that the weight multiplies. The matrices
// of attention and feed-forward layers are pruned; embedding, output and gains are not.
#pragma once

#include <torch/types.h>

#include <cstdint>
#include <filesystem>
#include <span>
#include <string>
#include <vector>

#include "crope/base/choice.h"
#include "crope/base/log.h"
#include "crope/model/transformer.h"

namespace crope::interop {

enum class PruneStructure {
  unstructured,
  two_of_four,  // two of every four neighbours in a row, as on disk
};

// How entries of a tied pair are dropped.
enum class PrunedPairs {
  complex,   // a complex number a - ib, ranked by its absolute value
  separate,  // entries of a and of b, ranked together
};

}  // namespace crope::interop

template <>
struct crope::ChoiceNames<crope::interop::PruneStructure> {
  using Kind = interop::PruneStructure;
  static constexpr auto kNames = choice_names<Kind>({{Kind::unstructured, "unstructured"}, {Kind::two_of_four, "2:4"}});
};

template <>
struct crope::ChoiceNames<crope::interop::PrunedPairs> {
  using Kind = interop::PrunedPairs;
  static constexpr auto kNames = choice_names<Kind>({{Kind::complex, "complex"}, {Kind::separate, "separate"}});
};

namespace crope::interop {

struct PruneOptions {
  double sparsity = 0.5;  // share of each matrix to drop, from 0 to less than 1; 0.5 where two of four are dropped
  Choice<PruneStructure> structure = PruneStructure::unstructured;
  Choice<PrunedPairs> pairs = PrunedPairs::complex;
};

// One kind of matrix ("attention.q") over all layers.
struct PrunedKind {
  std::string name;
  std::int64_t numbers = 0;
  std::int64_t zeros = 0;
  double kept_energy = 0;  // share of the squared size
};

struct PrunedModel {
  model::Transformer model;
  std::vector<PrunedKind> kinds;
};

// `calibration` holds rows of ids [1, T]: Wanda's rule, layer by layer, each with the inputs that the pruned layers
// before it give. Empty: magnitudes. Throws UsageError for impossible options.
PrunedModel prune(const model::Transformer& model, const PruneOptions& options,
                  std::span<const torch::Tensor> calibration = {});

// Writes the pruned model to the model directory `out`, with the tokenizer if there is one; config.json records how it
// was pruned. `calibration` is a text file; may be empty. Throws Error if `out` exists.
std::vector<PrunedKind> prune_directory(const std::filesystem::path& model_dir, const std::filesystem::path& out,
                                        const PruneOptions& options, const std::filesystem::path& calibration,
                                        Log& log);

}  // namespace crope::interop
