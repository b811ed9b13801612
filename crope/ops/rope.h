// Rotary positional embedding: the pair j of a head at position m is multiplied by the phase e^(i m theta_j),
// theta_j = base^(-2j/K) (the paper's R_m; docs/mathematics.md, section 3).
#pragma once

#include <torch/types.h>

#include <span>

namespace crope::ops {

// The phases of a set of positions, made once and used by every layer.
struct RopeTable {
  torch::Tensor cos;  // [T, K/2]
  torch::Tensor sin;  // [T, K/2]
  // cos + i sin and cos - i sin, in fp32 at least; undefined unless with_phases made them
  torch::Tensor phases, phases_back;
};

RopeTable with_phases(RopeTable table);

// `positions`[T] may be any numbers, also negative. Angles are computed in fp64 and then take the type and device of
// `options`; with phases on devices that prefer few launches (device.h). Throws Error unless K is even and positive.
RopeTable rope_table(const torch::Tensor& positions, int64_t K, double base, const torch::TensorOptions& options);

// The table of frequencies theta_j of any kind (rope_scaling.h), with cos and sin multiplied by `amplitude`.
RopeTable rope_table(const torch::Tensor& positions, std::span<const double> frequencies, double amplitude,
                     const torch::TensorOptions& options);

// Rotates x[..., T, K], heads stored as halves [re | im]. Differentiable in x.
torch::Tensor rope(const torch::Tensor& x, const RopeTable& table);

}  // namespace crope::ops
