// One attention head with given weights, on one sequence: scores and attention weights under four ways to tell it
// positions. Projections, rotations and softmax are the model's own code.
#pragma once

#include <torch/types.h>

#include <array>
#include <string_view>
#include <vector>

#include "crope/ops/attention.h"
#include "crope/ops/weight.h"

namespace crope::analysis {

enum class HeadKind {
  absolute,  // Eq. pe-abs: p_m is added to the token
  relative,  // Eq. pe-rel: p_{m-n} is added to both tokens
  rope,      // Eq. pe-rope
  crope,     // Eq. pe-crope: rope with complex-linear projections
};

inline constexpr std::array kHeadKinds = {HeadKind::absolute, HeadKind::relative, HeadKind::rope, HeadKind::crope};

constexpr std::string_view head_kind_name(HeadKind kind) {
  constexpr std::array<std::string_view, 4> names = {"absolute", "relative", "rope", "crope"};
  return names[static_cast<std::size_t>(kind)];
}

struct ConstructedHead {
  HeadKind kind;
  double rope_theta;
  torch::Tensor tokens;     // x [T, D], in halves
  torch::Tensor positions;  // absolute: p [T, D]; relative: [2T-1, D], row n - m + T - 1; otherwise undefined
  ops::Weight q, k;         // D -> D
};

// q_m . k_n / sqrt(D) for all m (rows) and n, before any mask: [T, T].
torch::Tensor head_scores(const ConstructedHead& head);

// Their softmax under the mask: [T, T]. Where the head has queries and keys of its own this is ops::attention of the
// identity, which gives every row its weights.
torch::Tensor head_weights(const ConstructedHead& head, ops::Mask mask);

struct ScoresAndWeights {
  torch::Tensor scores;   // [T, T]
  torch::Tensor weights;  // [T, T]
};

// Both, with one projection of the tokens.
ScoresAndWeights head_output(const ConstructedHead& head, ops::Mask mask);

}  // namespace crope::analysis
