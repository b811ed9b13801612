// Every operation that has a kernel, in fp32 on each instruction set of this machine, against its twin in fp64:
// values and gradients, sizes that do not fill vectors, tiles or blocks.
#include "crope/ops/attention.h"
#include "crope/ops/block_linear.h"
#include "crope/ops/cpu/isa.h"
#include "crope/ops/embedding.h"
#include "crope/ops/linear.h"
#include "crope/ops/linear_cross_entropy.h"
#include "crope/ops/newton_schulz.h"
#include "crope/ops/reference.h"
#include "crope/ops/rms_norm.h"
#include "crope/ops/rotary_attention.h"
#include "crope/ops/swiglu.h"
#include "tests/tensor_checks.h"

namespace crope::ops {
namespace {

using test::TensorList;
using torch::Tensor;

constexpr double kTolerance = 3e-6;
constexpr double kEps = 1e-6;

class FusedKernels : public testing::TestWithParam<std::string> {
 protected:
  void SetUp() override {
    before_ = cpu::instruction_set();
    cpu::use_instruction_set(GetParam());
    at::manual_seed(1);  // the same numbers whatever ran before
  }
  void TearDown() override { cpu::use_instruction_set(before_); }

 private:
  std::string before_;
};

Tensor narrow_random(at::IntArrayRef shape) {
  return test::random_tensor(shape, torch::kFloat32);
}

// Gradients of a sum of all outputs with weights that are the same numbers in fp32 and in fp64.
TensorList gradients(const test::Operation& operation, const TensorList& inputs) {
  TensorList leaves, weights;
  for (const Tensor& x : inputs) leaves.push_back(x.detach().clone().requires_grad_());
  const TensorList outputs = operation(leaves);
  for (const Tensor& y : outputs) {
    const Tensor index = at::arange(y.numel(), torch::kFloat64);
    weights.push_back(index.mul(0.7).add(0.3).sin().to(torch::kFloat32).to(y.scalar_type()).view(y.sizes()));
  }
  return torch::autograd::grad(outputs, leaves, weights);
}

void check(const test::Operation& operation, const test::Operation& twin, const TensorList& inputs,
           double tolerance = kTolerance) {
  TensorList wide;
  for (const Tensor& x : inputs) wide.push_back(x.to(torch::kFloat64));
  const TensorList got = operation(inputs), expected = twin(wide);
  ASSERT_EQ(got.size(), expected.size());
  for (std::size_t i = 0; i < got.size(); ++i) {
    test::expect_close(got[i], expected[i], tolerance, "output " + std::to_string(i));
  }
  const TensorList grads = gradients(operation, inputs), exact = gradients(twin, wide);
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    test::expect_close(grads[i], exact[i], tolerance, "gradient " + std::to_string(i));
  }
  // Bit for bit the same when it is done again: runs are resumed on that promise.
  const TensorList again = gradients(operation, inputs);
  for (std::size_t i = 0; i < inputs.size(); ++i) EXPECT_TRUE(at::equal(grads[i], again[i])) << "gradient " << i;
}

TEST_P(FusedKernels, RmsNorm) {
  for (const int64_t N : {2, 7, 64, 129}) {
    for (const int64_t rows : {1, 3, 300}) {
      check([](const TensorList& x) { return TensorList{rms_norm(x[0], x[1], kEps)}; },
            [](const TensorList& x) { return TensorList{reference::rms_norm(x[0], x[1], kEps)}; },
            {narrow_random({rows, N}), narrow_random({N})});
    }
  }
}

TEST_P(FusedKernels, AddRmsNorm) {
  const auto both = [](const TensorList& x) {
    const SumAndNorm result = add_rms_norm(x[0], x[1], x[2], kEps);
    return TensorList{result.sum, result.norm};
  };
  const auto twin = [](const TensorList& x) {
    return TensorList{x[0] + x[1], reference::rms_norm(x[0] + x[1], x[2], kEps)};
  };
  for (const int64_t N : {3, 65})
    check(both, twin, {narrow_random({2, 9, N}), narrow_random({2, 9, N}), narrow_random({N})});
  // One of the two results may go unused.
  const auto only = [](std::size_t which, const test::Operation& operation) {
    return [=](const TensorList& x) { return TensorList{operation(x)[which]}; };
  };
  const TensorList inputs = {narrow_random({5, 33}), narrow_random({5, 33}), narrow_random({33})};
  check(only(1, both), only(1, twin), inputs);
}

TEST_P(FusedKernels, Swiglu) {
  const auto twin = [](const TensorList& x) { return TensorList{reference::swiglu(x[0], x[1])}; };
  for (const int64_t N : {1, 13, 64, 257}) {
    check([](const TensorList& x) { return TensorList{swiglu(x[0], x[1])}; }, twin,
          {narrow_random({5, N}) * 3, narrow_random({5, N})});
  }
  // Columns of one matrix.
  check([](const TensorList& x) { return TensorList{swiglu(x[0].narrow(-1, 0, 21), x[0].narrow(-1, 21, 21))}; },
        [](const TensorList& x) {
          return TensorList{reference::swiglu(x[0].narrow(-1, 0, 21), x[0].narrow(-1, 21, 21))};
        },
        {narrow_random({3, 4, 42})});
  // Where the exponential leaves its range the gate is open or shut.
  const Tensor far = at::tensor({-1000.0f, -100.0f, 100.0f, 1000.0f});
  test::expect_close(swiglu(far, at::ones({4})), at::tensor({0.0f, 0.0f, 100.0f, 1000.0f}), 1e-7);
}

TEST_P(FusedKernels, Linear) {
  const auto op = [](const TensorList& x) { return ops::linear(x[0], std::vector<Tensor>{x[1], x[2]}); };
  const auto twin = [](const TensorList& x) {
    return TensorList{reference::linear(x[0], x[1]), reference::linear(x[0], x[2])};
  };
  check(op, twin, {narrow_random({2, 5, 7}), narrow_random({3, 7}), narrow_random({11, 7})});
}

// Gate and up of one product, whose gradient comes back as one matrix.
TEST_P(FusedKernels, LinearThenSwiglu) {
  const auto op = [](const TensorList& x) {
    const std::vector<Tensor> gate_up = ops::linear(x[0], std::vector<Tensor>{x[1], x[2]});
    return TensorList{swiglu(gate_up[0], gate_up[1])};
  };
  const auto twin = [](const TensorList& x) {
    return TensorList{reference::swiglu(reference::linear(x[0], x[1]), reference::linear(x[0], x[2]))};
  };
  check(op, twin, {narrow_random({2, 5, 7}), narrow_random({19, 7}), narrow_random({19, 7})});
}

TEST_P(FusedKernels, BlockLinear) {
  for (const auto& [M, N] : std::vector<std::pair<int64_t, int64_t>>{{1, 1}, {5, 3}, {17, 33}}) {
    check(
        [](const TensorList& x) {
          return TensorList{block_linear(x[0], ComplexWeight{x[1], x[2]})};
        },
        [](const TensorList& x) {
          return TensorList{reference::block_linear(x[0], {x[1], x[2]})};
        },
        {narrow_random({2, 7, 2 * N}), narrow_random({M, N}), narrow_random({M, N})});
  }
}

struct AttentionCase {
  int64_t B, T, H, K, Kv;
  bool with_gains;
  int64_t G = H;
};

TEST_P(FusedKernels, RotaryAttention) {
  const std::vector<AttentionCase> cases = {
      {1, 1, 1, 2, 2, true},     {2, 7, 3, 6, 10, true},       {1, 96, 2, 16, 16, true},  {2, 97, 1, 32, 32, true},
      {1, 150, 2, 8, 16, true},  {2, 33, 2, 12, 12, false},    {1, 193, 1, 6, 4, false},  {1, 530, 1, 4, 6, true},
      {2, 97, 6, 8, 8, true, 2}, {1, 150, 4, 6, 10, false, 1}, {3, 33, 4, 16, 8, true, 2}};
  for (const AttentionCase& c : cases) {
    const RotaryAttentionOptions options{.num_heads = c.H, .scale = 0.37, .norm_eps = kEps, .num_kv_heads = c.G};
    const auto gains = [&](const TensorList& x) {
      return c.with_gains ? std::pair(x[3], x[4]) : std::pair(Tensor(), Tensor());
    };
    const auto op = [&](const TensorList& x) {
      const auto [q_gain, k_gain] = gains(x);
      const RopeTable table = rope_table(at::arange(c.T), c.K, 5000, x[0].options().requires_grad(false));
      return TensorList{rotary_attention(x[0], x[1], x[2], q_gain, k_gain, table, options)};
    };
    const auto twin = [&](const TensorList& x) {
      const auto [q_gain, k_gain] = gains(x);
      return TensorList{reference::rotary_attention(x[0], x[1], x[2], q_gain, k_gain, at::arange(c.T), 5000, options)};
    };
    TensorList inputs = {narrow_random({c.B, c.T, c.H * c.K}), narrow_random({c.B, c.T, c.G * c.K}),
                         narrow_random({c.B, c.T, c.G * c.Kv})};
    if (c.with_gains) {
      inputs.push_back(narrow_random({c.K}));
      inputs.push_back(narrow_random({c.K}));
    }
    SCOPED_TRACE("T = " + std::to_string(c.T));
    // One position attends to itself alone: the gradients of q and k are zero but for rounding.
    if (c.T == 1) {
      test::expect_close(op(inputs)[0], inputs[2], 1e-6);
    } else {
      check(op, twin, inputs, 1e-5);
    }
  }
}

// Logits of moderate size: a loss of nearly zero is a difference of nearly equal numbers.
TEST_P(FusedKernels, LinearCrossEntropy) {
  for (const auto& [R, V] : std::vector<std::pair<int64_t, int64_t>>{{1, 2}, {7, 33}, {50, 5000}}) {
    const Tensor targets = at::randint(V, {R}, torch::kInt64);
    check([&](const TensorList& x) { return TensorList{linear_cross_entropy(x[0], x[1], targets).reshape({1})}; },
          [&](const TensorList& x) {
            return TensorList{reference::linear_cross_entropy(x[0], x[1], targets).reshape({1})};
          },
          {narrow_random({R, 19}) * 0.3, narrow_random({V, 19})});
  }
}

TEST_P(FusedKernels, LossOfWhatIsNotANumber) {
  Tensor x = at::zeros({2, 4});
  x[1][2] = NAN;
  const Tensor loss = linear_cross_entropy(x, at::ones({40, 4}), at::zeros({2}, torch::kInt64));
  EXPECT_TRUE(std::isnan(loss.item<float>()));
}

TEST_P(FusedKernels, TiedEmbedding) {
  const Tensor ids = at::tensor({3, 0, 3, 3, 8, 1}, torch::kInt64).view({2, 3});
  const auto op = [&](const TensorList& x) {
    const TiedEmbedding result = tied_embedding(x[0], ids);
    return TensorList{result.rows, result.weight * result.weight};
  };
  const auto twin = [&](const TensorList& x) { return TensorList{reference::embedding(x[0], ids), x[0] * x[0]}; };
  for (const int64_t D : {1, 70, 600}) check(op, twin, {narrow_random({9, D})});
  // Either use may be the only one.
  check([&](const TensorList& x) { return TensorList{tied_embedding(x[0], ids).rows}; },
        [&](const TensorList& x) { return TensorList{reference::embedding(x[0], ids)}; }, {narrow_random({9, 5})});
  check([&](const TensorList& x) { return TensorList{tied_embedding(x[0], ids).weight.sin()}; },
        [&](const TensorList& x) { return TensorList{x[0].sin()}; }, {narrow_random({9, 5})});
}

// The gradient that the rows are added to may still be wanted by someone else.
TEST_P(FusedKernels, TiedEmbeddingLeavesAGradientThatOthersHold) {
  const Tensor weight = narrow_random({4, 3}).requires_grad_(), ids = at::tensor({1, 1}, torch::kInt64);
  const Tensor outer = at::ones({4, 3});
  const TiedEmbedding result = tied_embedding(weight, ids);
  const auto grad = torch::autograd::grad({result.rows, result.weight}, {weight}, {at::ones({2, 3}), outer});
  EXPECT_TRUE(at::equal(outer, at::ones({4, 3})));
  EXPECT_TRUE(at::equal(grad[0].select(1, 0), at::tensor({1.0f, 3.0f, 1.0f, 1.0f})));
}

// The iteration magnifies rounding where singular values are small: random matrices have few of those.
TEST_P(FusedKernels, NewtonSchulz) {
  for (const auto& [R, C] :
       std::vector<std::pair<int64_t, int64_t>>{{1, 1}, {1, 9}, {7, 3}, {16, 40}, {130, 70}, {70, 300}}) {
    const Tensor x = narrow_random({R, C});
    test::expect_close(newton_schulz(x), reference::newton_schulz(x.to(torch::kFloat64)), 2e-5, std::to_string(R));
    const ComplexWeight pair{narrow_random({R, C}), narrow_random({R, C})};
    const ComplexWeight got = newton_schulz(pair);
    const ComplexWeight exact = reference::newton_schulz({pair.a.to(torch::kFloat64), pair.b.to(torch::kFloat64)});
    test::expect_close(got.a, exact.a, 2e-5, "a of " + std::to_string(R));
    test::expect_close(got.b, exact.b, 2e-5, "b of " + std::to_string(R));
  }
}

INSTANTIATE_TEST_SUITE_P(EveryInstructionSet, FusedKernels, testing::ValuesIn(cpu::available_instruction_sets()),
                         [](const auto& info) { return info.param; });

}  // namespace
}  // namespace crope::ops
