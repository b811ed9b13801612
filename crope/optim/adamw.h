// AdamW, for what is not a matrix of the network: the embedding and the gains.
#pragma once

#include <torch/types.h>

#include <cstdint>
#include <vector>

namespace crope::optim {

struct AdamwOptions {
  double beta1 = 0.9;
  double beta2 = 0.95;
  double eps = 1e-8;
};

struct AdamwTensor {
  torch::Tensor value;
  double weight_decay = 0;
};

class Adamw {
 public:
  Adamw(std::vector<AdamwTensor> tensors, const AdamwOptions& options);

  // Updates every tensor in place from its .grad(), as torch.optim.AdamW does. One without a gradient is left alone.
  void step(double lr);

  // First and second moments in the order of the tensors, zero before the first step. With steps() they are the whole
  // state: what is copied into them is restored.
  const std::vector<torch::Tensor>& first_moments() const { return first_; }
  const std::vector<torch::Tensor>& second_moments() const { return second_; }
  std::int64_t steps() const { return steps_; }
  void set_steps(std::int64_t steps) { steps_ = steps; }

 private:
  void step_together(double lr);

  std::vector<AdamwTensor> tensors_;
  std::vector<torch::Tensor> first_;
  std::vector<torch::Tensor> second_;
  AdamwOptions options_;
  std::int64_t steps_ = 0;
};

}  // namespace crope::optim
