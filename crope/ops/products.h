// Lists of matrix products: what linear layers, complex ones and the output projection are made of.
#pragma once

#include <torch/types.h>

#include <span>
#include <vector>

#include "crope/ops/cpu/sum_product.h"

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

// Computes them one after the other; targets of two products are the same or do not overlap. On fp32 tensors of the CPU
// by kernels that form the sums on the way (cpu/sum_product), large ones by Strassen's scheme; elsewhere by ATen.
// Not differentiable.
void multiply(std::span<const Product> products);

// target <- left right, or target + left right.
void multiply(const torch::Tensor& target, const torch::Tensor& left, const torch::Tensor& right, bool add = false);

// Targets in plain memory: [m, n], rows `stride` floats apart.
struct TargetShape {
  std::int64_t m, n, stride;
  bool operator==(const TargetShape&) const = default;
};

// The kernels themselves, by all threads; inside at::parallel_for by the calling one alone.
void multiply(const TargetShape& shape, std::span<const cpu::SumProduct> products,
              cpu::ResultPart part = cpu::ResultPart::whole);

}  // namespace crope::ops
