#include "crope/study/benchmarks.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "crope/base/error.h"

namespace crope::study {
namespace {

TEST(Benchmarks, ComeFromTheTaskTable) {
  const report::Benchmark& hellaswag = benchmark_by_task("hellaswag");
  EXPECT_EQ(hellaswag.name, "HellaSwag");
  EXPECT_EQ(hellaswag.title, "HellaSwag, normalised accuracy");
  EXPECT_EQ(hellaswag.metric, "acc_norm,none");
  EXPECT_EQ(hellaswag.error_metric, "acc_norm_stderr,none");
  EXPECT_EQ(hellaswag.chance, 0.25);
  EXPECT_EQ(benchmark_by_task("gsm8k").title, "GSM8K, flexible extract");
  EXPECT_EQ(benchmark_by_task("gsm8k").metric, "exact_match,flexible-extract");
  EXPECT_EQ(benchmark_by_task("winogrande").chance, 0.5);
  EXPECT_EQ(benchmark_by_task("lambada_openai").metric, "acc,none");
}

TEST(Benchmarks, TextsWithoutRightAndWrongAreNone) {
  EXPECT_TRUE(std::ranges::none_of(benchmarks(), [](const auto& each) { return each.task == "perplexity"; }));
  EXPECT_THROW(benchmark_by_task("perplexity"), UsageError);
  EXPECT_THROW(benchmark_by_task("mmlu_anatomy"), UsageError);
}

}  // namespace
}  // namespace crope::study
