#include "crope/ops/cpu/quantised_columns.h"

#include "tests/ops/cpu/kernel_cases.h"

namespace crope::ops::cpu {
namespace {

using test::draw_floats;
using test::on_every_instruction_set;

TEST(QuantisedColumns, EachBlockHasTheLargestAt127) {
  on_every_instruction_set([] {
    const std::int64_t R = 2, N = 33;
    const std::vector<float> x = draw_floats("x", R * 2 * N);
    const QuantisedColumns columns({x.data(), R, 2 * N, 2 * N}, N);
    ASSERT_EQ(columns.count(), 2 * R);
    for (std::int64_t i = 0; i < columns.count(); ++i) {
      const QuantisedColumn column = columns.column(i);
      for (std::int64_t block = 0; block < 2; ++block) {
        const std::int64_t first = 32 * block, count = std::min<std::int64_t>(32, N - first);
        const float* from = x.data() + i * N + first;
        int largest = 0;
        std::int32_t sum = 0;
        for (std::int64_t c = 0; c < 32; ++c) {
          const int q = column.values[first + c];
          if (c < count) {
            EXPECT_NEAR(from[c], q * column.scales[block], 0.501f * column.scales[block]);
          } else {
            EXPECT_EQ(q, 0);
          }
          largest = std::max(largest, std::abs(q));
          sum += q;
        }
        EXPECT_EQ(largest, 127);
        EXPECT_EQ(column.sums[block], sum);
      }
    }
  });
}

TEST(QuantisedColumns, ZerosTinyNumbersAndWhatIsNoNumber) {
  on_every_instruction_set([] {
    std::vector<float> x(4 * 32);
    x[32] = 1e-38f;
    x[2 * 32 + 7] = NAN;
    x[3 * 32 + 7] = -INFINITY;
    const QuantisedColumns columns({x.data(), 4, 32, 32}, 32);
    EXPECT_EQ(columns.column(0).scales[0], 0);
    EXPECT_EQ(columns.column(0).sums[0], 0);
    EXPECT_EQ(columns.column(1).sums[0], 0);
    EXPECT_TRUE(std::isnan(columns.column(2).scales[0]));
    EXPECT_TRUE(std::isnan(columns.column(3).scales[0]));
  });
}

}  // namespace
}  // namespace crope::ops::cpu
