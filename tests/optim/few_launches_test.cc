// The plan for devices that take their orders one by one against the plan of the CPU: equal numbers up to rounding. Run
// with CROPE_FUSED=0 this compares the plan with the operations that it is made of.
#include <cmath>

#include "crope/ops/newton_schulz.h"
#include "crope/optim/adamw.h"
#include "crope/optim/muon.h"
#include "tests/tensor_checks.h"

namespace crope::optim {
namespace {

using torch::Tensor;

Tensor parameter(at::IntArrayRef shape) {
  Tensor value = test::random_tensor(shape).requires_grad_();
  value.mutable_grad() = test::random_tensor(shape);
  return value;
}

// Matrices of two shapes, pairs, and one in quarters: two steps of Muon, each matrix by hand.
TEST(FewLaunches, MuonStepsAreThoseOfEachMatrix) {
  std::vector<MuonMatrix> matrices;
  for (int i = 0; i < 3; ++i) matrices.push_back({{parameter({6, 4})}});
  matrices.push_back({{parameter({4, 6})}});
  for (int i = 0; i < 2; ++i) matrices.push_back({{parameter({3, 5}), parameter({3, 5})}});
  matrices.push_back({{parameter({6, 4})}, /*in_quarters=*/true});
  const MuonOptions options{.iteration_type = torch::kFloat64};
  std::vector<std::vector<Tensor>> expected, buffers;
  for (const MuonMatrix& matrix : matrices) {
    expected.emplace_back();
    buffers.emplace_back();
    for (const Tensor& part : matrix.parts) {
      expected.back().push_back(part.detach().clone());
      buffers.back().push_back(at::zeros_like(part.detach()));
    }
  }
  Muon muon(matrices, options);
  const double lr = 0.1;
  for (int step = 0; step < 2; ++step) {
    muon.step(lr);
    for (std::size_t i = 0; i < matrices.size(); ++i) {
      std::vector<Tensor> update;
      for (std::size_t p = 0; p < matrices[i].parts.size(); ++p) {
        const Tensor& grad = matrices[i].parts[p].grad();
        buffers[i][p] = buffers[i][p] * options.momentum + grad * (1 - options.momentum);
        update.push_back(grad * (1 - options.momentum) + buffers[i][p] * options.momentum);
      }
      std::vector<Tensor> direction;
      if (matrices[i].is_pair()) {
        const auto [a, b] = ops::newton_schulz({update[0], update[1]}, options.newton_schulz);
        direction = {a, b};
      } else if (matrices[i].in_quarters) {
        direction = {update[0].clone()};
        for (const int64_t r : {0, 3}) {
          for (const int64_t c : {0, 2}) {
            Tensor quarter = direction[0].narrow(0, r, 3).narrow(1, c, 2);
            quarter.copy_(ops::newton_schulz(quarter.clone(), options.newton_schulz));
          }
        }
      } else {
        direction = {ops::newton_schulz(update[0], options.newton_schulz)};
      }
      for (std::size_t p = 0; p < direction.size(); ++p) {
        expected[i][p] = expected[i][p] * (1 - lr * options.weight_decay) -
                         direction[p] * (lr * lr_factor(matrices[i], options.lr_adjustment));
        test::expect_close(matrices[i].parts[p], expected[i][p], 1e-10, "matrix " + std::to_string(i));
      }
    }
  }
}

TEST(FewLaunches, AdamwStepsAreThoseOfEachTensor) {
  const std::vector<AdamwTensor> tensors = {{parameter({5, 3}), 0.1}, {parameter({7}), 0}, {parameter({4}), 0}};
  const AdamwOptions options;
  std::vector<Tensor> value, first, second;
  for (const AdamwTensor& tensor : tensors) {
    value.push_back(tensor.value.detach().clone());
    first.push_back(at::zeros_like(value.back()));
    second.push_back(at::zeros_like(value.back()));
  }
  Adamw adamw(tensors, options);
  for (int step = 1; step <= 3; ++step) {
    adamw.step(0.01);
    for (std::size_t i = 0; i < tensors.size(); ++i) {
      const Tensor& grad = tensors[i].value.grad();
      first[i] = options.beta1 * first[i] + (1 - options.beta1) * grad;
      second[i] = options.beta2 * second[i] + (1 - options.beta2) * grad.square();
      const Tensor bias_free = first[i] / (1 - std::pow(options.beta1, step));
      const Tensor size = (second[i] / (1 - std::pow(options.beta2, step))).sqrt() + options.eps;
      value[i] = value[i] * (1 - 0.01 * tensors[i].weight_decay) - 0.01 * bias_free / size;
      test::expect_close(tensors[i].value, value[i], 1e-10, "tensor " + std::to_string(i));
    }
  }
}

}  // namespace
}  // namespace crope::optim
