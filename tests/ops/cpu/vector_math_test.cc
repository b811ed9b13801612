#include "crope/ops/cpu/vector_math.h"

#include <gtest/gtest.h>

#include "tests/ops/cpu/kernel_cases.h"

namespace crope::ops::cpu {
namespace {

using test::draw_floats;
using test::on_every_instruction_set;

const std::vector<std::int64_t> kVectorSizes = {1, 3, 8, 17, 100, 9001};

TEST(VectorMath, SumOfSquares) {
  on_every_instruction_set([] {
    for (const std::int64_t n : kVectorSizes) {
      const std::vector<float> x = draw_floats("x", n);
      double expected = 0;
      for (const float value : x) expected += static_cast<double>(value) * value;
      EXPECT_NEAR(sum_of_squares(x.data(), n), expected, 1e-6 * expected);
    }
    EXPECT_EQ(sum_of_squares(nullptr, 0), 0);
    // A sum of floats alone would stop at 2^24.
    const std::vector<float> ones(20'000'000, 1.0f);
    EXPECT_EQ(sum_of_squares(ones.data(), static_cast<std::int64_t>(ones.size())), 2e7);
  });
}

TEST(VectorMath, ScaleAndAdd) {
  on_every_instruction_set([] {
    for (const std::int64_t n : kVectorSizes) {
      const std::vector<float> a = draw_floats("a", n), b = draw_floats("b", n);
      std::vector<float> y(a.size() + 1, 9.0f);
      scale_into(y.data(), a.data(), -1.5f, n);
      for (std::size_t i = 0; i < a.size(); ++i) EXPECT_EQ(y[i], -1.5f * a[i]);
      add_into(y.data(), a.data(), b.data(), 0.25f, n);
      for (std::size_t i = 0; i < a.size(); ++i) EXPECT_NEAR(y[i], a[i] + 0.25 * b[i], 1e-6);
      std::vector<float> in_place = a;
      add_into(in_place.data(), in_place.data(), b.data(), 0.25f, n);
      EXPECT_TRUE(std::equal(in_place.begin(), in_place.end(), y.begin()));
      EXPECT_EQ(y.back(), 9.0f) << "nothing behind the end";
    }
  });
}

}  // namespace
}  // namespace crope::ops::cpu
