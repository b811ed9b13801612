#include "crope/eval/answer_filter.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>

#include "crope/eval/benchmark_rows.h"

namespace crope::eval {
namespace {

// What Python's re gives for lm_eval's two patterns.
TEST(AnswerFilter, FindsWhatTheRegularExpressionsFind) {
  const struct {
    const char *text, *strict, *flexible;
  } cases[] = {
      {"#### 5", "5", "5"},
      {"#### -1,234.50 x #### 7", "-1,234.50", "7"},
      {"####5 is 18.", kNoAnswer, "18."},
      {"cost $1,234. ok", kNoAnswer, "$1,234."},
      {"-5 and 6-7", kNoAnswer, "-7"},
      {"no", kNoAnswer, kNoAnswer},
      {"#### .", ".", kNoAnswer},
      {"a 3", kNoAnswer, "3"},
      {"...", kNoAnswer, "..."},
      {"x #### $5", kNoAnswer, "$5"},
      {"-$5", kNoAnswer, "-$5"},
      {"#### --5 #### 4", "4", "4"},
      {"\u0663 \uff15", kNoAnswer, kNoAnswer},  // digits of other scripts are none
      {"", kNoAnswer, kNoAnswer},
  };
  for (const auto& [text, strict, flexible] : cases) {
    EXPECT_EQ(strict_match(text), strict) << text;
    EXPECT_EQ(flexible_extract(text), flexible) << text;
  }
}

TEST(AnswerFilter, ExactMatchIgnoresWhatLmEvalIgnores) {
  EXPECT_TRUE(exact_match("1,234", "x\n#### 1234"));
  EXPECT_TRUE(exact_match("$18.", "#### 18"));
  EXPECT_TRUE(exact_match("18.\n", "18\n"));
  EXPECT_TRUE(exact_match("ABC", "abc"));
  EXPECT_TRUE(exact_match("#### 1 #### 2", "2"));
  EXPECT_FALSE(exact_match("18..", "18"));
  EXPECT_FALSE(exact_match("5.0", "5"));
  EXPECT_FALSE(exact_match(kNoAnswer, "#### 5"));
  EXPECT_TRUE(exact_match("", ""));
}

// Four real models' answers, judged by people who made the benchmark.
TEST(AnswerFilter, FlexibleExtractAgreesWithTheJudgementOfRealAnswers) {
  const char* data = std::getenv("CROPE_TEST_DATA");
  if (data == nullptr) GTEST_SKIP() << "CROPE_TEST_DATA is not set: no real data here";
  const std::filesystem::path file = std::filesystem::path(data) / "eval/gsm8k/example_model_solutions.jsonl";
  int answers = 0, agreed = 0;
  for (const BenchmarkRow& row : read_benchmark_rows({file})) {
    std::string truth = string_field(row, "ground_truth");
    truth.replace(truth.rfind("A: "), 3, "#### ");
    for (const auto& [model, answer] : row.fields.items()) {
      if (!answer.is_object()) continue;
      const bool right = exact_match(flexible_extract(answer.at("solution").get<std::string>()), truth);
      agreed += right == answer.at("is_correct").get<bool>();
      ++answers;
    }
  }
  EXPECT_EQ(answers, 5276);
  EXPECT_EQ(agreed, 5276);
}

}  // namespace
}  // namespace crope::eval
