#include "crope/study/bench.h"

#include <gtest/gtest.h>

#include <filesystem>

#include "crope/base/error.h"
#include "crope/base/file.h"
#include "crope/ops/tensor_memory.h"
#include "crope/study/growth.h"
#include "tests/temporary_folder.h"

namespace crope::study {
namespace {

StepShape tiny_step() {
  return {.config = {.vocab_size = 512, .num_layers = 2, .num_heads = 2, .d_model = 64, .d_ff = 64, .max_seq_len = 64},
          .rows = 4,
          .seq_len = 32};
}

double parts_of(const StepCost& cost) {
  double sum = 0;
  for (const ops::ProfileRow& row : cost.parts) sum += row.seconds;
  return sum;
}

TEST(Bench, AStepByPart) {
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

TEST(Bench, ATiedModelTakesFewerOperations) {
  StepShape shape = tiny_step();
  const double dense = measure_step(shape, 1).flops;
  shape.config.variant = model::variant_by_name("crope_all");
  const StepCost tied = measure_step(shape, 1);
  EXPECT_LT(tied.flops, dense);
  double flops = 0;
  for (const ops::ProfileRow& row : tied.parts) flops += row.name == "muon" ? 0 : row.flops;
  EXPECT_NEAR(flops / tied.flops, 1, 1e-6);
}

TEST(Bench, WholeResultAsJson) {
  Log quiet(nullptr);
  const BenchOptions options{.step = tiny_step(), .variants = {"rope"}, .repetitions = 1, .decoded_tokens = 4};
  const Json json = to_json(run_bench(options, quiet));
  EXPECT_GT(json.at("gemm_flops").get<double>(), 0);
  EXPECT_GT(json.at("memory_read_bytes").get<double>(), 0);
  EXPECT_GT(json.at("tokenizer_encode_bytes").get<double>(), 0);
  ASSERT_EQ(json.at("variants").size(), 1u);
  const Json& variant = json["variants"][0];
  EXPECT_GT(variant.at("decode_tokens_per_second").get<double>(), 0);
  EXPECT_GT(variant.at("gemm_share").get<double>(), 0);
  EXPECT_FALSE(variant.at("step").at("parts").empty());
}

TEST(Bench, RefusesWhatMakesNoSense) {
  Log quiet(nullptr);
  BenchOptions options{.step = tiny_step(), .variants = {"rope"}, .repetitions = 0};
  EXPECT_THROW(run_bench(options, quiet), UsageError);
  options.repetitions = 1;
  options.step.rows = 0;
  EXPECT_THROW(run_bench(options, quiet), UsageError);
  options.step.rows = 1;
  options.variants = {"rop"};
  EXPECT_THROW(run_bench(options, quiet), UsageError);
  EXPECT_THROW(measure_growth({.axes = {"widht"}}, quiet), UsageError);
}

TEST(Growth, MeasuresAndDraws) {
  Log quiet(nullptr);
  const test::TemporaryFolder folder;
  const std::vector<GrowthAxis> axes =
      measure_growth({.axes = {"layers"}, .variants = {"rope"}, .repetitions = 1, .most_flops = 3e10}, quiet);
  ASSERT_EQ(axes.size(), 1u);
  ASSERT_GE(axes[0].points.size(), 2u);
  EXPECT_LT(axes[0].points.size(), 5u) << "what is beyond most_flops is left out";
  EXPECT_EQ(axes[0].points[1].value, 2 * axes[0].points[0].value);
  draw_growth(axes, folder.path());
  EXPECT_NE(read_file(folder.path() / "growth_layers.svg").find("<svg"), std::string::npos);
}

}  // namespace
}  // namespace crope::study
