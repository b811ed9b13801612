#include "crope/ops/annealed_weight.h"

#include "crope/base/error.h"
#include "crope/ops/weight.h"
#include "tests/tensor_checks.h"

namespace crope::ops {
namespace {

using test::TensorList;
using torch::Tensor;

AnnealedWeight random_annealed(int64_t M, int64_t N, double scale, torch::ScalarType type = torch::kFloat64) {
  const auto draw = [&] { return test::random_tensor({M, N}, type); };
  return {.linear = {draw(), draw()}, .conjugate = {draw(), draw()}, .scale = scale};
}

Tensor as_complex(const Tensor& halves) {
  const Halves parts = halves_of(halves);
  return at::complex(parts.re.contiguous(), parts.im.contiguous());
}

TEST(AnnealedWeight, IsComplexLinearPlusConjugateLinear) {
  for (const double scale : {1.0, 0.3, 0.0}) {
    const AnnealedWeight weight = random_annealed(3, 5, scale);
    const Tensor x = test::random_tensor({4, 10});
    const Tensor U = at::complex(weight.linear.a, -weight.linear.b);
    const Tensor V = at::complex(weight.conjugate.a, -weight.conjugate.b);
    const Tensor z = as_complex(x), expected = z.mm(U.t()) + scale * z.conj().mm(V.t());
    const Tensor got = as_complex(project(x, Weight(weight)));
    EXPECT_LE((got - expected).abs().max().item<double>(), 1e-13) << scale;
  }
}

TEST(AnnealedWeight, AnyMatrixIsTheSumOfItsParts) {
  const Tensor dense = test::random_tensor({6, 14});
  const AnnealedWeight parts = split(dense);
  EXPECT_EQ(parts.scale, 1);
  test::expect_close(annealed_matrix(parts), dense, 1e-15);
  test::expect_close(parts.linear.a, contract(dense).a, 1e-15);
  const double energy =
      expand(parts.linear).square().sum().item<double>() + (dense - expand(parts.linear)).square().sum().item<double>();
  EXPECT_NEAR(energy, dense.square().sum().item<double>(), 1e-10) << "the parts are orthogonal";
  EXPECT_THROW(split(at::zeros({3, 4})), Error);
}

TEST(AnnealedWeight, GradientsByFiniteDifferences) {
  const AnnealedWeight weight = random_annealed(2, 3, 0.4);
  const auto operation = [](const TensorList& in) {
    const AnnealedWeight annealed{{in[1], in[2]}, {in[3], in[4]}, 0.4};
    return TensorList{project(in[0], Weight(annealed))};
  };
  test::check_gradients(operation, {test::random_tensor({4, 6}), weight.linear.a, weight.linear.b, weight.conjugate.a,
                                    weight.conjugate.b});
}

// Beside tied and dense maps of the same input.
TEST(AnnealedWeight, MixesWithOtherWeights) {
  const Tensor x = test::random_tensor({5, 8});
  const std::array<Weight, 3> maps = {Weight(random_annealed(3, 4, 0.7)),
                                      Weight(ComplexWeight{test::random_tensor({2, 4}), test::random_tensor({2, 4})}),
                                      Weight(DenseWeight{test::random_tensor({6, 8})})};
  const std::array<Tensor, 3> results = project(x, maps);
  for (std::size_t i = 0; i < 3; ++i) test::expect_close(results[i], at::linear(x, dense_matrix(maps[i])), 1e-13);
}

TEST(AnnealedWeight, IsStoredDense) {
  for (const auto type : {torch::kFloat32, torch::kBFloat16}) {
    const AnnealedWeight weight = random_annealed(4, 3, 0.6, type);
    const Weight kept = stored(Weight(weight));
    ASSERT_TRUE(std::holds_alternative<DenseWeight>(kept));
    EXPECT_EQ(std::get<DenseWeight>(kept).weight.scalar_type(), type);
    AnnealedWeight wide = weight;
    for (Tensor* part : {&wide.linear.a, &wide.linear.b, &wide.conjugate.a, &wide.conjugate.b}) {
      *part = part->to(torch::kFloat64);
    }
    test::expect_close(std::get<DenseWeight>(kept).weight, annealed_matrix(wide),
                       type == torch::kFloat32 ? 1e-6 : 4e-3);
  }
}

}  // namespace
}  // namespace crope::ops
