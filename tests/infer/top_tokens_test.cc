#include "crope/infer/top_tokens.h"

#include <gtest/gtest.h>

#include <cmath>

namespace crope::infer {
namespace {

std::vector<std::int32_t> ids_of(const std::vector<float>& logits, std::int64_t count) {
  std::vector<std::int32_t> ids;
  for (const TokenProbability& token : top_tokens(logits, count, 0)) ids.push_back(token.id);
  return ids;
}

TEST(TopTokens, TheLargestAndOfEqualsTheFirst) {
  const std::vector<float> logits = {1, 5, 3, 5, -2, 3};
  EXPECT_EQ(ids_of(logits, 4), (std::vector<std::int32_t>{1, 3, 2, 5}));
  EXPECT_EQ(ids_of(logits, 1), std::vector<std::int32_t>{1});
  EXPECT_EQ(ids_of(logits, 0), std::vector<std::int32_t>{});
  EXPECT_EQ(ids_of(logits, 100).size(), 6u) << "no more than there are";
}

TEST(TopTokens, NumbersBeforeWhatIsNone) {
  EXPECT_EQ(ids_of({NAN, -3, NAN, 2}, 2), (std::vector<std::int32_t>{3, 1}));
}

TEST(TopTokens, LogProbabilities) {
  const std::vector<float> logits = {0.5f, 2};
  EXPECT_DOUBLE_EQ(top_tokens(logits, 2, 1.25)[0].log_probability, 0.75);
  EXPECT_DOUBLE_EQ(top_tokens(logits, 2, 1.25)[1].log_probability, -0.75);
}

}  // namespace
}  // namespace crope::infer
