// How tests compare tensors and gradients.
#pragma once

#include <ATen/ATen.h>
#include <gtest/gtest.h>
#include <torch/csrc/autograd/autograd.h>
#include <torch/types.h>

#include <functional>
#include <vector>

namespace crope::test {

using TensorList = std::vector<torch::Tensor>;

// The same random numbers in every run of a test program.
inline const bool kSeeded = [] {
  at::manual_seed(1);
  return true;
}();

// ||x - y|| / ||y||, or ||x|| when y is zero.
inline double relative_error(const torch::Tensor& x, const torch::Tensor& y) {
  const auto wide_x = x.detach().to(torch::kFloat64), wide_y = y.detach().to(torch::kFloat64);
  const double scale = wide_y.norm().item<double>();
  const double difference = (wide_x - wide_y).norm().item<double>();
  return scale > 0 ? difference / scale : difference;
}

inline void expect_close(const torch::Tensor& x, const torch::Tensor& y, double tolerance,
                         const std::string& what = {}) {
  ASSERT_EQ(x.sizes(), y.sizes()) << what;
  EXPECT_LE(relative_error(x, y), tolerance) << what;
}

inline torch::Tensor random_tensor(at::IntArrayRef shape, torch::ScalarType type = torch::kFloat64) {
  return at::randn(shape, torch::TensorOptions().dtype(torch::kFloat64)).to(type);
}

// A scalar that every entry of every output moves in a way of its own.
inline torch::Tensor mix_outputs(const TensorList& outputs) {
  torch::Tensor sum = at::zeros({}, outputs.front().options());
  for (const torch::Tensor& y : outputs) {
    const torch::Tensor weights = at::arange(y.numel(), y.options()).mul(0.7).add(0.3).sin().view(y.sizes());
    sum = sum + (y * weights).sum();
  }
  return sum;
}

using Operation = std::function<TensorList(const TensorList&)>;

// Gradients of mix_outputs(operation(inputs)) by autograd.
inline TensorList autograd_gradients(const Operation& operation, const TensorList& inputs) {
  TensorList leaves;
  for (const torch::Tensor& x : inputs) leaves.push_back(x.detach().clone().requires_grad_());
  return torch::autograd::grad({mix_outputs(operation(leaves))}, leaves);
}

// Autograd against central differences in fp64.
inline void check_gradients(const Operation& operation, const TensorList& inputs) {
  const TensorList gradients = autograd_gradients(operation, inputs);
  constexpr double kStep = 1e-6;
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    ASSERT_EQ(inputs[i].scalar_type(), torch::kFloat64);
    TensorList moved;
    for (const torch::Tensor& x : inputs) moved.push_back(x.detach().clone(at::MemoryFormat::Contiguous));
    torch::Tensor numeric = at::empty_like(moved[i]);
    double* x = moved[i].data_ptr<double>();
    for (int64_t j = 0; j < numeric.numel(); ++j) {
      const double original = x[j];
      x[j] = original + kStep;
      const double above = mix_outputs(operation(moved)).item<double>();
      x[j] = original - kStep;
      const double below = mix_outputs(operation(moved)).item<double>();
      x[j] = original;
      numeric.data_ptr<double>()[j] = (above - below) / (2 * kStep);
    }
    expect_close(gradients[i], numeric, 1e-7, "input " + std::to_string(i));
  }
}

// Values and gradients of an operation against its twin.
inline void check_against(const Operation& operation, const Operation& twin, const TensorList& inputs,
                          double tolerance) {
  const TensorList got = operation(inputs), expected = twin(inputs);
  ASSERT_EQ(got.size(), expected.size());
  for (std::size_t i = 0; i < got.size(); ++i)
    expect_close(got[i], expected[i], tolerance, "output " + std::to_string(i));
  const TensorList got_grads = autograd_gradients(operation, inputs), expected_grads = autograd_gradients(twin, inputs);
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    expect_close(got_grads[i], expected_grads[i], tolerance, "gradient " + std::to_string(i));
  }
}

}  // namespace crope::test
