#include "crope/ops/row_maximum.h"

#include <cmath>

#include "tests/tensor_checks.h"

namespace crope::ops {
namespace {

using torch::Tensor;

TEST(RowMaximumOfTensors, RowsAreIndependentOfEachOther) {
  const Tensor logits = test::random_tensor({37, 1003}, torch::kFloat32) * 4;
  const std::vector<RowMaximum> maxima = row_maxima(logits);
  ASSERT_EQ(maxima.size(), 37u);
  for (int64_t r = 0; r < 37; ++r) {
    const RowMaximum& maximum = maxima[static_cast<std::size_t>(r)];
    EXPECT_EQ(maximum.index, logits[r].argmax().item<int64_t>());
    EXPECT_EQ(maximum.value, logits[r].max().item<float>());
    EXPECT_NEAR(maximum.log_sum_exp, logits[r].to(torch::kFloat64).logsumexp(0).item<double>(), 1e-5);
    const Tensor row = logits[r].contiguous();
    const RowMaximum single = row_maximum(std::span(row.const_data_ptr<float>(), 1003));
    EXPECT_EQ(single.index, maximum.index);
    EXPECT_EQ(single.log_sum_exp, maximum.log_sum_exp);
  }
}

TEST(RowMaximumOfTensors, StridedRows) {
  const Tensor wide = test::random_tensor({5, 40}, torch::kFloat32), part = wide.narrow(1, 3, 20);
  const std::vector<RowMaximum> maxima = row_maxima(part);
  for (int64_t r = 0; r < 5; ++r) {
    EXPECT_EQ(maxima[static_cast<std::size_t>(r)].index, part[r].argmax().item<int64_t>());
  }
}

}  // namespace
}  // namespace crope::ops
