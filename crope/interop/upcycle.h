// Dense models as complex-linear ones: a start for training on, not the same function.
//
// Half of what a dense projection can do is conjugate-linear, and a tied one cannot (docs/interop.md). Two ways to
// leave it out:
//
// plain: each projection by itself becomes the nearest tied matrix.
// fitted: first the coordinates of the residual stream are paired anew, which changes no function, so that Q and K,
//   whose own pairs the rotary frequencies fix, lose less; then V and O of a head, of which only the product counts,
//   become the pair whose product is nearest to the head's.
#pragma once

#include <torch/types.h>

#include <cstdint>
#include <filesystem>
#include <optional>
#include <vector>

#include "crope/base/log.h"
#include "crope/model/transformer.h"

namespace crope::interop {

enum class UpcycleMethod { plain, fitted };

// How much of a projection's energy is kept: 1 - |W - W'|^2 / |W|^2.
struct KeptEnergy {
  std::int64_t layer;
  double q, k;
  std::optional<double> v, o;  // nothing where V and O were fitted together: by themselves they mean nothing
  double vo;                   // of the product O V, summed over the heads of the layer
};

struct UpcycledModel {
  model::Transformer model;
  std::vector<KeptEnergy> kept;  // one a layer
};

// `dense` is of the variant rope, `variant` one that ties. Everything else is kept: gains, feed-forward layers,
// embeddings, and the keys of config.json. Computes in fp64, gives fp32.
// Throws UsageError for other variants, saying why.
UpcycledModel upcycle(const model::Transformer& dense, model::Variant variant, UpcycleMethod method);

// Writes the model directory `out`, with the tokenizer if there is one. Throws Error if `out` exists.
std::vector<KeptEnergy> upcycle_directory(const std::filesystem::path& model_dir, const std::filesystem::path& out,
                                          model::Variant variant, UpcycleMethod method, Log& log);

}  // namespace crope::interop
