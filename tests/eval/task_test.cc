#include "crope/eval/task.h"

#include <gtest/gtest.h>

namespace crope::eval {
namespace {

TEST(Task, PairsOfEachKind) {
  const Item choices{.context = "C", .choices = {"a", "b"}};
  const auto after = text_pairs(TaskKind::multiple_choice, choices);
  ASSERT_EQ(after.size(), 2u);
  EXPECT_EQ(after[1].context, "C");
  EXPECT_EQ(after[1].continuation, " b");

  Item inside = choices;
  inside.continuation = "end.";
  const auto within = text_pairs(TaskKind::multiple_choice, inside);
  ASSERT_EQ(within.size(), 2u);
  EXPECT_EQ(within[1].context, "Cb");
  EXPECT_EQ(within[1].continuation, " end.");

  const auto last = text_pairs(TaskKind::last_word, {.context = "one two", .target = " three"});
  ASSERT_EQ(last.size(), 1u);
  EXPECT_EQ(last[0].context, "one two");
  EXPECT_EQ(last[0].continuation, " three");
}

TEST(Task, NamesInLmEvalsFiles) {
  EXPECT_STREQ(output_type_name(TaskKind::last_word), "loglikelihood");
  EXPECT_STREQ(output_type_name(TaskKind::rolling_likelihood), "loglikelihood_rolling");
  const MetricKey key{MetricId::exact_match, Filter::flexible_extract};
  EXPECT_EQ(key.value_key(), "exact_match,flexible-extract");
  EXPECT_EQ(key.error_key(), "exact_match_stderr,flexible-extract");
  EXPECT_EQ(MetricKey{MetricId::bits_per_byte}.value_key(), "bits_per_byte,none");
  EXPECT_TRUE(is_higher_better(MetricId::exact_match));
  EXPECT_FALSE(is_higher_better(MetricId::perplexity));
  EXPECT_FALSE(is_higher_better(MetricId::bits_per_byte));
}

}  // namespace
}  // namespace crope::eval
