#include "crope/ops/weight.h"

#include "crope/base/error.h"
#include "crope/ops/device.h"
#include "tests/tensor_checks.h"

namespace crope::ops {
namespace {

using torch::Tensor;

TEST(Weight, EveryMixOfDenseAndTiedEqualsTheDenseMatrices) {
  const Tensor x = test::random_tensor({2, 3, 8});
  for (int mix = 0; mix < 8; ++mix) {
    std::array<Weight, 3> projections;
    for (int i = 0; i < 3; ++i) {
      if ((mix >> i) % 2 == 1) {
        projections[i] = ComplexWeight{test::random_tensor({2 + i, 4}), test::random_tensor({2 + i, 4})};
      } else {
        projections[i] = DenseWeight{test::random_tensor({4 + 2 * i, 8})};
      }
    }
    const std::array<Tensor, 3> results = project(x, projections);
    for (int i = 0; i < 3; ++i) {
      test::expect_close(results[i], at::linear(x, dense_matrix(projections[i])), 1e-13);
      test::expect_close(project(x, projections[i]), results[i], 1e-15);
    }
  }
}

Weight random_weight(bool is_pair, int64_t out, int64_t in, torch::ScalarType type) {
  if (!is_pair) return DenseWeight{test::random_tensor({out, in}, type)};
  return ComplexWeight{test::random_tensor({out / 2, in / 2}, type), test::random_tensor({out / 2, in / 2}, type)};
}

// Weights of every type times rows of fp32, into columns of wider rows.
TEST(Weight, ManyRowsEqualTheDenseMatrix) {
  for (const bool is_pair : {false, true}) {
    for (const auto type : {torch::kFloat32, torch::kBFloat16}) {
      ASSERT_TRUE(is_weight_type(type));
      for (const auto& [R, out, in] : {std::array<int64_t, 3>{1, 2, 2}, {40, 6, 10}, {33, 1100, 2050}}) {
        const Weight weight = random_weight(is_pair, out, in, type);
        EXPECT_EQ(view(weight).out(), out);
        EXPECT_EQ(view(weight).in(), in);
        const Tensor x = test::random_tensor({R, in + 3}, torch::kFloat32).narrow(1, 1, in);
        const Tensor room = at::ones({R, out + 5}), y = room.narrow(1, 2, out);
        const Tensor expected = at::matmul(x.to(torch::kFloat64), dense_matrix(weight).to(torch::kFloat64).t());
        multiply_rows(weight, x, y, Output::add);
        test::expect_close(y, expected + 1, 1e-6);
        multiply_rows(weight, x, y, Output::overwrite);
        test::expect_close(y, expected, 1e-6);
        EXPECT_EQ(room.narrow(1, 0, 2).sum().item<float>() + room.narrow(1, out + 2, 3).sum().item<float>(),
                  5.0f * static_cast<float>(R));
      }
    }
  }
  EXPECT_FALSE(is_weight_type(torch::kFloat64));
}

TEST(Weight, StoredWithoutGradientsOrGaps) {
  Weight weight = DenseWeight{test::random_tensor({4, 6}, torch::kFloat32).t().requires_grad_()};
  const Weight copy = stored(weight);
  const Tensor& tensor = std::get<DenseWeight>(copy).weight;
  EXPECT_TRUE(tensor.is_contiguous());
  EXPECT_FALSE(tensor.requires_grad());
  EXPECT_TRUE(at::equal(tensor, std::get<DenseWeight>(weight).weight));
}

TEST(Weight, OutputsOfADenseWeight) {
  const DenseWeight weight{test::random_tensor({7, 3}, torch::kFloat32)};
  EXPECT_TRUE(at::equal(dense_matrix(narrow_outputs(Weight(weight), 2, 4)), weight.weight.narrow(0, 2, 4)));
}

// What a stored weight stands for, row by row.
Tensor widened_outputs(const Weight& weight) {
  return dense_matrix(widened(weight));
}

// x as products with quantised weights see it: in blocks of 32 of each piece, rounded to 8 bits where the machine
// multiplies such integers fast.
Tensor seen_by_rounded_weights(const Tensor& x, int64_t pieces) {
  if (!inference_kernels(at::kCPU, at::kFloat).prefers_integer_products()) return x;
  const Tensor blocks = x.view({x.size(0), pieces, -1, 32});
  const Tensor scale = blocks.abs().amax(-1, true) / 127;
  return ((blocks / scale).round() * scale).view(x.sizes());
}

Weight rounded(const Weight& weight, WeightType type) {
  if (const auto* pair = std::get_if<ComplexWeight>(&weight)) {
    return QuantisedWeight{quantised(pair->a, type), quantised(pair->b, type)};
  }
  return QuantisedWeight{quantised(std::get<DenseWeight>(weight).weight, type), {}};
}

TEST(Weight, RoundedWeightsAreNearAndKeepTheirPairs) {
  for (const bool is_pair : {false, true}) {
    constexpr int64_t in = 192;  // halves in whole blocks
    const Weight weight = random_weight(is_pair, 70, in, torch::kFloat32);
    for (const auto& [type, tolerance] : {std::pair(WeightType::int8, 0.006), std::pair(WeightType::int4, 0.1)}) {
      const Weight narrow = rounded(weight, type);
      EXPECT_EQ(view(narrow).is_pair(), is_pair);
      EXPECT_EQ(view(narrow).out(), 70);
      EXPECT_EQ(view(narrow).in(), in);
      const Tensor dense = widened_outputs(narrow);
      test::expect_close(dense, dense_matrix(weight), tolerance);
      EXPECT_FALSE(at::equal(dense, dense_matrix(weight)));
      const Tensor x = test::random_tensor({300, in}, torch::kFloat32), y = at::ones({300, 70});
      multiply_rows(narrow, x, y, Output::add);
      test::expect_close(y, at::linear(seen_by_rounded_weights(x, is_pair ? 2 : 1), dense) + 1, 1e-6);
    }
  }
}

TEST(Weight, OutputsAndRowsOfARoundedWeight) {
  const Weight weight = rounded(random_weight(false, 50, 40, torch::kFloat32), WeightType::int8);
  const Tensor whole = widened_outputs(weight);
  EXPECT_TRUE(at::equal(widened_outputs(narrow_outputs(weight, 32, 18)), whole.narrow(0, 32, 18)));
  EXPECT_TRUE(at::equal(widened_outputs(narrow_outputs(weight, 16, 16)), whole.narrow(0, 16, 16)));
  const Tensor ids = at::tensor({3, 49, 0, 17}, at::kLong).view({2, 2});
  EXPECT_TRUE(at::equal(look_up(weight, ids), at::embedding(whole, ids)));
  EXPECT_TRUE(at::equal(look_up(DenseWeight{whole}, ids), at::embedding(whole, ids)));
}

TEST(Weight, TensorsCanBeReplaced) {
  Weight pair = random_weight(true, 4, 6, torch::kFloat32);
  ASSERT_EQ(tensors_of(pair).size(), 2u);
  for (Tensor* tensor : tensors_of(pair)) *tensor = at::zeros_like(*tensor);
  EXPECT_EQ(dense_matrix(pair).abs().sum().item<float>(), 0);
}

}  // namespace
}  // namespace crope::ops
