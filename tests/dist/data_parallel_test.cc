#include "crope/dist/data_parallel.h"

#include <gtest/gtest.h>

#include "tests/dist/rank_threads.h"

namespace crope::dist {
namespace {

using torch::Tensor;

// Parameters of odd sizes, the same on every rank.
std::vector<Tensor> make_parameters() {
  std::vector<Tensor> parameters;
  for (const std::int64_t size : {3, 70, 1, 128, 5}) {
    parameters.push_back((at::arange(size, torch::kFloat32) / size).requires_grad_());
  }
  return parameters;
}

// A loss whose gradient depends on the rank and on the pass.
Tensor loss_of(const std::vector<Tensor>& parameters, int rank, int pass) {
  Tensor sum = at::zeros({});
  for (const Tensor& parameter : parameters) sum = sum + (parameter * parameter).sum() * (rank + 1 + 10 * pass);
  return sum;
}

class Reduced : public testing::TestWithParam<int> {};

TEST_P(Reduced, IsTheSumOverRanksAndPasses) {
  const int n = GetParam();
  const auto messages = test::run_ranks(n, [n](const auto& group) {
    const std::vector<Tensor> parameters = make_parameters();
    // 64 numbers in the first bucket, 128 in the others: several buckets, and one parameter larger than the first.
    GradientReducer reducer(group, parameters, {.first_bytes = 256, .bytes = 512});
    EXPECT_EQ(reducer.buckets(), n == 1 ? 0u : 3u);
    for (int step = 0; step < 3; ++step) {
      for (const Tensor& parameter : parameters) Tensor(parameter).mutable_grad() = Tensor();
      loss_of(parameters, group->rank(), 0).backward();
      reducer.begin();
      loss_of(parameters, group->rank(), 1).backward();
      reducer.finish();
      const double factor = n * (n + 1) / 2.0 * 2 + 10.0 * n;  // both passes of all ranks
      for (const Tensor& parameter : parameters) {
        EXPECT_TRUE(at::allclose(parameter.grad(), parameter.detach() * 2 * factor, 1e-6, 1e-6));
        EXPECT_TRUE(parameter.grad().is_contiguous());
      }
    }
  });
  for (const std::string& message : messages) EXPECT_EQ(message, "");
}

INSTANTIATE_TEST_SUITE_P(Sizes, Reduced, testing::Values(1, 2, 3, 4));

TEST(GradientReducer, AParameterWithoutAGradientHasZeros) {
  const auto messages = test::run_ranks(2, [](const auto& group) {
    const std::vector<Tensor> parameters = make_parameters();
    GradientReducer reducer(group, parameters);
    reducer.begin();
    (parameters[1] * 2).sum().backward();
    reducer.finish();
    EXPECT_TRUE(at::equal(parameters[0].grad(), at::zeros({3})));
    EXPECT_TRUE(at::equal(parameters[1].grad(), at::full({70}, 4.0f)));
  });
  for (const std::string& message : messages) EXPECT_EQ(message, "");
}

// A step that is given up leaves nothing behind.
TEST(GradientReducer, PassesBeforeBeginSendNothing) {
  const auto messages = test::run_ranks(2, [](const auto& group) {
    const std::vector<Tensor> parameters = make_parameters();
    GradientReducer reducer(group, parameters);
    if (group->rank() == 0) loss_of(parameters, 0, 0).backward();
    for (const Tensor& parameter : parameters) Tensor(parameter).mutable_grad() = Tensor();
    reducer.begin();
    loss_of(parameters, 0, 0).backward();
    reducer.finish();
    for (const Tensor& parameter : parameters) EXPECT_TRUE(at::equal(parameter.grad(), parameter.detach() * 4));
  });
  for (const std::string& message : messages) EXPECT_EQ(message, "");
}

}  // namespace
}  // namespace crope::dist
