#include "crope/study/step_cost.h"

#include <gtest/gtest.h>

#include "crope/base/error.h"
#include "crope/model/parameters.h"
#include "crope/ops/tensor_memory.h"
#include "tests/study/tiny_step.h"

namespace crope::study {
namespace {

using test::tiny_step;

double parts_of(const StepCost& cost) {
  double sum = 0;
  for (const ops::ProfileRow& row : cost.parts) sum += row.seconds;
  return sum;
}

TEST(StepCost, ByPart) {
  ops::keep_tensor_memory();
  const StepCost cost = measure_step(tiny_step(), 2);
  EXPECT_GT(cost.forward_s, 0);
  EXPECT_GT(cost.backward_s, 0);
  EXPECT_GT(cost.optimizer_s, 0);
  EXPECT_GT(parts_of(cost), 0);
  EXPECT_LE(parts_of(cost), cost.mean_s);
  double flops = 0;
  for (const ops::ProfileRow& row : cost.parts) {
    EXPECT_GT(row.calls, 0) << row.name;
    if (row.name != "muon") flops += row.flops;
  }
  EXPECT_NEAR(flops / cost.flops, 1, 1e-6) << "the operations count what model/cost says";
}

TEST(StepCost, ATiedModelTakesFewerOperations) {
  StepShape shape = tiny_step();
  shape.config.d_model = 256;  // wide enough for Gauss's three products
  const double dense = measure_step(shape, 1).flops;
  shape.config.variant = model::variant_by_name("crope_all");
  const StepCost tied = measure_step(shape, 1);
  EXPECT_LT(tied.flops, dense);
  double flops = 0;
  for (const ops::ProfileRow& row : tied.parts) flops += row.name == "muon" ? 0 : row.flops;
  EXPECT_NEAR(flops / tied.flops, 1, 1e-6);
}

// Weights, gradients and a momentum buffer, all in fp32; AdamW's embedding and gains have two.
TEST(StepCost, CountsTheLastingBytes) {
  ops::keep_tensor_memory();
  const StepShape shape = tiny_step();
  const model::ParameterCounts counts = model::count_parameters(shape.config);
  const std::int64_t by_adamw = counts.embedding + counts.norm;
  const StepCost cost = measure_step(shape, 1);
  EXPECT_EQ(cost.lasting_bytes, 4u * static_cast<std::uint64_t>(3 * counts.total() + by_adamw));
  EXPECT_GE(cost.peak_bytes, cost.lasting_bytes / 2) << "weights and gradients are there at one time";
}

TEST(StepCost, ImpossibleStepsAreRefused) {
  StepShape shape = tiny_step();
  EXPECT_THROW(check_step(shape, 0), UsageError);
  shape.seq_len = 65;
  EXPECT_THROW(check_step(shape, 1), UsageError);
  shape.seq_len = 64;
  EXPECT_NO_THROW(check_step(shape, 1));
  shape.rows = 0;
  EXPECT_THROW(check_step(shape, 1), UsageError);
}

}  // namespace
}  // namespace crope::study
