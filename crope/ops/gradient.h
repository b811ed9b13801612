// Operations whose gradient is written by hand. One small autograd node serves them all, so that an operation is a
// forward and a backward function on plain tensors.
#pragma once

#include <torch/types.h>

#include <functional>
#include <vector>

namespace crope::ops {

using TensorList = std::vector<torch::Tensor>;

struct ForwardResult {
  TensorList outputs;
  // Inputs, or tensors made for the occasion: what backward will want to see. An output is saved by its detach().
  TensorList saved;
};

struct BackwardCall {
  TensorList saved;
  TensorList grads;          // of each output; undefined where nothing depends on it
  std::vector<bool> needed;  // for each input: whether its gradient is needed
};

// Returns the gradient of each input, undefined where it is not needed.
using BackwardFunction = std::function<TensorList(const BackwardCall&)>;

// Inputs may be undefined. Runs `forward` unseen by autograd and records `backward` as its gradient, if any of the
// inputs needs one. Saved tensors are let go as soon as the backward pass has used them.
// `name` is what a profile calls the operation (ops/profile); it outlives the program.
TensorList with_gradient(const char* name, const TensorList& inputs, const std::function<ForwardResult()>& forward,
                         BackwardFunction backward);

// Whether with_gradient would record anything.
bool needs_gradient(const TensorList& inputs);

}  // namespace crope::ops
