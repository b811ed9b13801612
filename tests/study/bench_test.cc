#include "crope/study/bench.h"

#include <gtest/gtest.h>

#include "crope/base/error.h"
#include "tests/study/tiny_step.h"

namespace crope::study {
namespace {

using test::tiny_step;

TEST(Bench, WholeResultAsJson) {
  Log quiet(nullptr);
  const BenchOptions options{.step = tiny_step(), .variants = {"rope"}, .repetitions = 1, .decoded_tokens = 4};
  const Json json = to_json(run_bench(options, quiet));
  EXPECT_GT(json.at("gemm_flops").get<double>(), 0);
  EXPECT_GT(json.at("memory_read_bytes").get<double>(), 0);
  EXPECT_GT(json.at("tokenizer_encode_bytes").get<double>(), 0);
  EXPECT_EQ(json.at("products").size(), 9u);
  ASSERT_EQ(json.at("variants").size(), 1u);
  const Json& variant = json["variants"][0];
  EXPECT_GT(variant.at("decode_tokens_per_second").get<double>(), 0);
  EXPECT_GT(variant.at("gemm_share").get<double>(), 0);
  EXPECT_FALSE(variant.at("step").at("parts").empty());
  EXPECT_GT(variant.at("bf16_step").at("forward_s").get<double>(), 0);
  EXPECT_GT(variant["bf16_step"].at("backward_s").get<double>(), 0);
  // The share of the peak is what the step did in its time, by the peak that stands beside it.
  const double rate = variant["step"].at("flops").get<double>() /
                      (variant["step"].at("forward_s").get<double>() + variant["step"].at("backward_s").get<double>());
  EXPECT_NEAR(variant.at("gemm_share").get<double>(), rate / json.at("gemm_flops").get<double>(), 1e-6);
}

TEST(Bench, RecommendsThePrecisionWhoseGradientsAreFaster) {
  BenchResult result{};
  result.variants = {{.variant = "rope"}, {.variant = "crope_all"}};
  for (VariantBench& each : result.variants) {
    each.step.forward_s = each.step.backward_s = 1;
    each.bf16_step.forward_s = each.bf16_step.backward_s = 1.5;
  }
  EXPECT_EQ(recommended_precision(result), "fp32");
  result.variants[0].bf16_step.backward_s = 0.2;
  result.variants[1].bf16_step.backward_s = 0.2;
  EXPECT_EQ(recommended_precision(result), "bf16");
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
}

}  // namespace
}  // namespace crope::study
