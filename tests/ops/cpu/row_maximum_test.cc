#include "crope/ops/cpu/kernels.h"

#include <gtest/gtest.h>

#include "tests/ops/cpu/kernel_cases.h"

namespace crope::ops::cpu {
namespace {

using test::draw_floats;
using test::on_every_instruction_set;

RowMaximum row_maximum(const std::vector<float>& x) {
  RowMaximum result;
  const auto N = static_cast<std::int64_t>(x.size());
  row_maxima({{x.data(), 1, N, N}, {&result, 1}});
  return result;
}

TEST(RowMaximum, MaximumAndLogSumExp) {
  on_every_instruction_set([] {
    for (const std::int64_t N : {1, 2, 7, 8, 9, 100, 1024, 1025, 5003}) {
      std::vector<float> x = draw_floats("logits", N);
      for (float& value : x) value *= 5;
      const RowMaximum result = row_maximum(x);
      std::size_t best = 0;
      double sum = 0;
      for (std::size_t i = 0; i < x.size(); ++i) best = x[i] > x[best] ? i : best;
      for (const float value : x) sum += std::exp(static_cast<double>(value) - x[best]);
      EXPECT_EQ(result.index, static_cast<std::int64_t>(best));
      EXPECT_EQ(result.value, x[best]);
      EXPECT_NEAR(result.log_sum_exp, x[best] + std::log(sum), 1e-6 * std::abs(x[best]) + 1e-6);
    }
    const std::vector<float> twice = {1, 9, 3, 9, 0, 0, 0, 0, 9, 9};
    EXPECT_EQ(row_maximum(twice).index, 1);
    std::vector<float> far(40, -1000.0f);
    far[17] = 1000;
    EXPECT_NEAR(row_maximum(far).log_sum_exp, 1000, 1e-9);
    far[3] = NAN;
    EXPECT_EQ(row_maximum(far).index, 17);
  });
}

}  // namespace
}  // namespace crope::ops::cpu
