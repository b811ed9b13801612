#include "crope/optim/muon.h"

#include "crope/base/error.h"
#include "crope/formats/safetensors.h"
#include "crope/model/tensor_file.h"
#include "tests/tensor_checks.h"

namespace crope::optim {
namespace {

using torch::Tensor;

// The numbers of an independent implementation, five steps in fp32.
TEST(Muon, GoldenNewtonSchulz) {
  const auto golden =
      formats::SafetensorsFile::open(std::string(CROPE_SOURCE_DIR) + "/tests/data/goldens/newton_schulz.safetensors");
  for (const std::string shape : {"6x10", "8x8", "12x4", "33x17"}) {
    const auto tensor = [&](const std::string& name) { return model::view_tensor(golden, name); };
    test::expect_close(ops::newton_schulz(tensor("real." + shape + ".in")), tensor("real." + shape + ".out"), 1e-5,
                       shape);
    const std::string name = "complex." + shape;
    const ops::ComplexWeight got =
        ops::newton_schulz(ops::ComplexWeight{tensor(name + ".in.a"), tensor(name + ".in.b")});
    test::expect_close(got.a, tensor(name + ".out.a"), 1e-5, shape);
    test::expect_close(got.b, tensor(name + ".out.b"), 1e-5, shape);
  }
}

Tensor with_grad(const Tensor& value, const Tensor& grad) {
  Tensor leaf = value.clone().requires_grad_();
  leaf.mutable_grad() = grad.clone();
  return leaf;
}

// The update written out, on one matrix and two steps.
TEST(Muon, FollowsItsDefinition) {
  const Tensor start = test::random_tensor({6, 4}), grad = test::random_tensor({6, 4});
  for (const bool nesterov : {true, false}) {
    const MuonOptions options{
        .nesterov = nesterov, .lr_adjustment = LrAdjustment::original, .iteration_type = torch::kFloat64};
    const Tensor leaf = with_grad(start, grad);
    Muon muon({{{leaf}}}, options);
    Tensor expected = start.clone(), buffer = at::zeros_like(start);
    for (int step = 0; step < 2; ++step) {
      muon.step(0.1);
      buffer = 0.95 * buffer + 0.05 * grad;
      const Tensor update = nesterov ? 0.05 * grad + 0.95 * buffer : buffer;
      expected = expected * (1 - 0.1 * 0.1) - 0.1 * std::sqrt(6.0 / 4) * ops::newton_schulz(update);
    }
    test::expect_close(leaf, expected, 1e-12);
    test::expect_close(muon.momentum()[0][0], buffer, 1e-12);
  }
}

// A pair moves exactly as its expanded matrix does, so the tie is kept.
TEST(Muon, APairMovesAsItsExpandedMatrix) {
  for (const LrAdjustment adjustment : {LrAdjustment::original, LrAdjustment::match_rms_adamw}) {
    const MuonOptions options{.lr_adjustment = adjustment, .iteration_type = torch::kFloat64};
    const ops::ComplexWeight value{test::random_tensor({5, 3}), test::random_tensor({5, 3})};
    const ops::ComplexWeight grad{test::random_tensor({5, 3}), test::random_tensor({5, 3})};
    const Tensor a = with_grad(value.a, grad.a), b = with_grad(value.b, grad.b);
    const Tensor dense = with_grad(ops::expand(value), ops::expand(grad));
    Muon tied({{{a, b}}}, options), expanded({{{dense}}}, options);
    for (int step = 0; step < 3; ++step) {
      tied.step(0.02);
      expanded.step(0.02);
    }
    test::expect_close(ops::expand({a.detach(), b.detach()}), dense.detach(), 1e-12);
  }
}

// A matrix in quarters moves as four matrices of their own, in fp32 (fused where the machine can) and in fp64.
TEST(Muon, QuartersMoveAsFourMatrices) {
  for (const auto type : {torch::kFloat32, torch::kFloat64}) {
    for (const LrAdjustment adjustment : {LrAdjustment::original, LrAdjustment::match_rms_adamw}) {
      const MuonOptions options{.lr_adjustment = adjustment, .iteration_type = type};
      const Tensor start = test::random_tensor({10, 6}).to(type), grad = test::random_tensor({10, 6}).to(type);
      const Tensor whole = with_grad(start, grad);
      Muon quartered({{.parts = {whole}, .in_quarters = true}}, options);
      std::vector<Tensor> quarters;
      std::vector<MuonMatrix> separate;
      for (const int64_t row : {0, 5}) {
        for (const int64_t column : {0, 3}) {
          const auto block = [&](const Tensor& x) { return x.narrow(0, row, 5).narrow(1, column, 3).contiguous(); };
          quarters.push_back(with_grad(block(start), block(grad)));
          separate.push_back({{quarters.back()}});
        }
      }
      Muon expected(separate, options);
      for (int step = 0; step < 3; ++step) {
        quartered.step(0.02);
        expected.step(0.02);
      }
      const Tensor joined =
          at::cat({at::cat({quarters[0], quarters[1]}, 1), at::cat({quarters[2], quarters[3]}, 1)}, 0);
      test::expect_close(whole.detach(), joined.detach(), type == torch::kFloat32 ? 1e-6 : 1e-12);
      EXPECT_DOUBLE_EQ(lr_factor({{whole}, true}, adjustment), lr_factor({{quarters[0]}}, adjustment));
    }
  }
}

TEST(Muon, LeavesAloneWhatHasNoGradient) {
  const Tensor leaf = test::random_tensor({3, 3}).requires_grad_();
  const Tensor before = leaf.detach().clone();
  Muon muon({{{leaf}}}, {});
  muon.step(0.1);
  EXPECT_TRUE(at::equal(leaf, before));
}

TEST(Muon, RefusesWhatIsNotAMatrixOrHalfAPair) {
  EXPECT_THROW(Muon({{{at::zeros({3})}}}, {}), Error);
  EXPECT_THROW(Muon({{{at::zeros({3, 3}), at::zeros({3, 4})}}}, {}), Error);
  EXPECT_THROW(Muon({{}}, {}), Error);
  EXPECT_THROW(Muon({{{at::zeros({4, 3})}, true}}, {}), Error);
  EXPECT_THROW(Muon({{{at::zeros({4, 4}), at::zeros({4, 4})}, true}}, {}), Error);
  const Tensor a = with_grad(at::ones({2, 2}), at::ones({2, 2})), b = at::ones({2, 2}).requires_grad_();
  Muon muon({{{a, b}}}, {});
  EXPECT_THROW(muon.step(0.1), Error);
}

}  // namespace
}  // namespace crope::optim
