// Which functions a projection uses (section "Detailed look into function space").
//
// A real 2x2 block is a sum of four: s0 the identity, s1 the reflection about the line at 45 degrees, s2 the rotation
// by 90 degrees, s3 the reflection about the x axis. s0 and s2 are what multiplication by a complex number can do; s1
// and s3 are what it cannot: the conjugate-linear part, which CRoPE omits.
#pragma once

#include <torch/types.h>

#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "crope/model/transformer.h"

namespace crope::analysis {

struct PauliEnergies {
  // The squared Frobenius norm of the part on each of s0 to s3.
  std::array<double, 4> sigma{};

  // They add up to the squared norm of the matrix.
  double total() const { return sigma[0] + sigma[1] + sigma[2] + sigma[3]; }
  double conjugate_linear_share() const { return total() > 0 ? (sigma[1] + sigma[3]) / total() : 0; }
};

// The energies of every 2x2 block of dense[2M, 2N], stored as halves, summed over the blocks, in fp64.
// Throws Error unless both dimensions are even.
PauliEnergies pauli_energies(const torch::Tensor& dense);

// The conjugate-linear share of a matrix of independent normal entries: half, give or take.
struct RandomShare {
  double mean = 0.5;
  double deviation;  // of one such matrix [rows, columns]
};
RandomShare random_share(std::int64_t rows, std::int64_t columns);

struct ProjectionEnergies {
  std::int64_t layer;
  char projection;  // 'q', 'k', 'v' or 'o'
  bool tied;
  std::int64_t rows, columns;  // of the dense matrix
  double squared_norm;         // of the dense matrix, computed directly
  PauliEnergies energies;
  // Size and energies of the matrix with the gains folded in: attention_norm in Q, K and V, q_norm in Q, k_norm in K.
  // No norm surrounds O, so its two sets of energies are equal.
  double effective_squared_norm;
  PauliEnergies effective;
};

// Every attention projection of a model, layer by layer.
std::vector<ProjectionEnergies> projection_energies(const model::Transformer& model);

}  // namespace crope::analysis
