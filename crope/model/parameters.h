// The list of a model's parameters: names, shapes and what each is. Counting, initialising, loading, saving and
// grouping for the optimiser all go through this one list.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "crope/model/config.h"

namespace crope::model {

// Which bar of the paper's parameter figure it belongs to.
enum class Component { embedding, attention, feed_forward, norm };

// How an optimiser and the initialisation treat it.
enum class Role {
  embedding,  // [V, D], also the output projection, and that too where it is not tied
  gain,       // [N] or, shared by the two parts of a pair, [N/2]; of a norm
  matrix,     // [out, in]
  pair_a,     // [out/2, in/2], always followed in the list by its pair_b
  pair_b,
};

struct ParameterSpec {
  std::string name;  // as in model.safetensors
  std::vector<std::int64_t> shape;
  Component component;
  Role role;
  // Dimensions whose entries are complex pairs: adjacent on disk, halves in memory (pair_layout.h).
  std::vector<int> paired_dimensions;

  std::int64_t size() const;

  // The real fan-in of a matrix or pair: the width of its input.
  std::int64_t fan_in() const;
};

// Whether a parameter belongs to the conjugate-linear part of an annealed projection.
bool is_conjugate(std::string_view parameter);

// In the order of the forward pass. REQUIRES: validate(config) passes.
std::vector<ParameterSpec> parameter_specs(const ModelConfig& config);

struct ParameterCounts {
  std::int64_t embedding = 0;
  std::int64_t attention = 0;
  std::int64_t feed_forward = 0;
  std::int64_t norm = 0;

  std::int64_t total() const { return embedding + attention + feed_forward + norm; }
};

// Computed from the shape alone: nothing is allocated, and the cost does not depend on the number of layers.
ParameterCounts count_parameters(const ModelConfig& config);

// The share of attention parameters saved against the variant `rope` of the same dimensions.
double attention_saving(const ModelConfig& config);

}  // namespace crope::model
