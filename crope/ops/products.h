// Lists of matrix products: what linear layers, complex ones and the output projection are made of.
#pragma once

#include <torch/types.h>

#include <span>
#include <vector>

namespace crope::ops {

struct SignedMatrix {
  torch::Tensor matrix;
  float sign = 1;
};

// Every target[m, n] <- sign (left)(right), or plus itself where `add` is set; left[m, k] and right[k, n] are sums of
// one or two matrices, the first with sign +1. Any of the operands may be transposed views.
struct Product {
  std::vector<SignedMatrix> left, right;
  struct Target {
    torch::Tensor matrix;
    float sign = 1;
    bool add = false;
  };
  std::vector<Target> targets;  // one or two
};

// Computes them one after the other; targets of two products are the same or do not overlap. By a kernel that forms the
// sums on the way where the device has one, else by ATen. Not differentiable.
void multiply(std::span<const Product> products);

// target <- left right, or target + left right.
void multiply(const torch::Tensor& target, const torch::Tensor& left, const torch::Tensor& right, bool add = false);

}  // namespace crope::ops
