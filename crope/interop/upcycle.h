// Dense models as complex-linear ones: a start for training.
//
// Half of what a dense projection can do is conjugate-linear, and a tied one cannot (docs/interop.md). Two methods drop
// that half, so that the result is another function; the third keeps it for training to remove:
//
// plain: each projection by itself becomes the nearest tied matrix.
// fitted: first the coordinates of the residual stream are paired anew, which changes no function, so that Q and K,
//   whose own pairs the rotary frequencies fix, lose less; then V and O of a head, of which only the product counts,
//   become the pair whose product is nearest to the head's.
// annealed: the coordinates are paired as in fitted, and the channels between V and O of a head are turned towards its
//   nearest tied pair, which changes no function either; then each projection keeps its conjugate-linear part beside
//   the tied one. The function is the dense model's.
#pragma once

#include <torch/types.h>

#include <cstdint>
#include <filesystem>
#include <optional>
#include <vector>

#include "crope/base/choice.h"
#include "crope/base/log.h"
#include "crope/model/transformer.h"

namespace crope::interop {

enum class UpcycleMethod { plain, fitted, annealed };

// The coordinates of the residual stream in which projections are tied. All three are the same function before that.
enum class StreamStructure {
  given,  // as they are
  pairs,  // another order (residual_pairing.h)
  J,      // turned to the structure that queries and keys share (residual_rotation.h)
};

}  // namespace crope::interop

template <>
struct crope::ChoiceNames<crope::interop::UpcycleMethod> {
  using Kind = interop::UpcycleMethod;
  static constexpr auto kNames =
      choice_names<Kind>({{Kind::plain, "plain"}, {Kind::fitted, "fitted"}, {Kind::annealed, "annealed"}});
};

template <>
struct crope::ChoiceNames<crope::interop::StreamStructure> {
  using Kind = interop::StreamStructure;
  static constexpr auto kNames = choice_names<Kind>({{Kind::given, "given"}, {Kind::pairs, "pairs"}, {Kind::J, "J"}});
};

namespace crope::interop {

// The default of a method: the given coordinates for plain, pairs for the others.
StreamStructure usual_structure(UpcycleMethod method);

// How much of a projection's energy the tied part keeps: 1 - |W - W'|^2 / |W|^2.
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
// embeddings, and the keys of config.json (but see rotate_residual for structure J). Computes in fp64, gives fp32.
// Throws UsageError for other variants, saying why.
UpcycledModel upcycle(const model::Transformer& dense, model::Variant variant, UpcycleMethod method,
                      std::optional<StreamStructure> structure = {});

// Writes the model directory `out`, with the tokenizer if there is one. Throws Error if `out` exists.
std::vector<KeptEnergy> upcycle_directory(const std::filesystem::path& model_dir, const std::filesystem::path& out,
                                          model::Variant variant, UpcycleMethod method, Log& log,
                                          std::optional<StreamStructure> structure = {});

}  // namespace crope::interop
