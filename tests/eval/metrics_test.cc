#include "crope/eval/metrics.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

namespace crope::eval {
namespace {

std::vector<std::vector<ItemResult>> accuracies(const std::vector<double>& values) {
  std::vector<std::vector<ItemResult>> results;
  for (const double value : values) {
    results.push_back({{.metrics = {{.metric = MetricId::acc, .value = value}}}});
  }
  return results;
}

const Task kChoice{.name = "t", .metrics = {MetricId::acc, MetricId::acc_norm}};

double metric_of(const std::vector<ItemResult>& results, std::size_t index) {
  return results.at(0).metrics.at(index).value;
}

// The digits are those of lm_eval 0.4.13's functions.
TEST(Metrics, MeanAndStandardErrorToTheLastDigit) {
  const auto a = task_metrics(accuracies({1, 0, 0, 1, 1, 0, 1}));
  const auto b = task_metrics(accuracies({0, 1, 0}));
  EXPECT_EQ(a[0].value, 0.5714285714285714);
  EXPECT_EQ(a[0].standard_error, 0.20203050891044214);
  EXPECT_EQ(b[0].standard_error, 0.33333333333333337);
  const Metric group = group_metric(std::vector<Member>{{a[0], 7}, {b[0], 3}});
  EXPECT_EQ(group.value, 0.5);
  EXPECT_EQ(group.standard_error, 0.17251638983558856);
}

TEST(Metrics, ASingleItemHasNoStandardError) {
  const auto one = task_metrics(accuracies({1}));
  EXPECT_EQ(one[0].value, 1);
  EXPECT_FALSE(one[0].standard_error);
  EXPECT_FALSE(group_metric(std::vector<Member>{{one[0], 1}}).standard_error);
}

TEST(Metrics, NormalisedByCharactersNotBytes) {
  const Item item{.choices = {"ééééé", "abcdefg"}, .gold = 0};
  const Response response{.log_likelihoods = {-10, -15}, .is_greedy = {false, false}};
  const auto results = item_results(kChoice, item, response);
  EXPECT_EQ(metric_of(results, 0), 1);  // -10 > -15
  EXPECT_EQ(metric_of(results, 1), 1);  // -10/5 > -15/7; next: bytes would choose the first, characters the second
  const Item other{.choices = {"éé", "abc"}, .gold = 1};
  EXPECT_EQ(metric_of(item_results(kChoice, other, {.log_likelihoods = {-6, -8}, .is_greedy = {false, false}}), 1), 1);
}

TEST(Metrics, TheFirstOfEqualMaximaCounts) {
  const Item first{.choices = {"aa", "bb", "cc"}, .gold = 0}, second{.choices = {"aa", "bb", "cc"}, .gold = 1};
  const Response equal{.log_likelihoods = {-3, -3, -3}, .is_greedy = {false, false, false}};
  EXPECT_EQ(metric_of(item_results(kChoice, first, equal), 0), 1);
  EXPECT_EQ(metric_of(item_results(kChoice, second, equal), 0), 0);
}

TEST(Metrics, NotANumberWinsAsInNumpy) {
  const Item item{.choices = {"a", "b"}, .gold = 1};
  const double nan = std::numeric_limits<double>::quiet_NaN();
  EXPECT_EQ(metric_of(item_results(kChoice, item, {.log_likelihoods = {-1, nan}, .is_greedy = {false, false}}), 0), 1);
}

TEST(Metrics, GenerationsAreReadTwice) {
  const Task task{.name = "g", .kind = TaskKind::generation, .metrics = {MetricId::exact_match}};
  const Item item{.target = "It is 3 * 6 = 18.\n#### 18"};
  const auto results = item_results(task, item, {.text = " 3 * 6 = 18 eggs."});
  ASSERT_EQ(results.size(), 2u);
  EXPECT_EQ(results[0].filter, Filter::strict_match);
  EXPECT_EQ(results[0].filtered_text, "[invalid]");
  EXPECT_EQ(results[0].metrics[0].value, 0);
  EXPECT_EQ(results[1].filter, Filter::flexible_extract);
  EXPECT_EQ(results[1].filtered_text, "18");
  EXPECT_EQ(results[1].metrics[0].value, 1);
}

// exp of the mean, and the error of the mean times its slope.
TEST(Metrics, LastWordsHaveAPerplexityAndAnAccuracy) {
  const Task task{.name = "l", .kind = TaskKind::last_word, .metrics = {MetricId::perplexity, MetricId::acc}};
  std::vector<std::vector<ItemResult>> results;
  for (const double likelihood : {-1.0, -2.0, -6.0}) {
    results.push_back(item_results(task, {}, {.log_likelihoods = {likelihood}, .is_greedy = {likelihood == -1}}));
  }
  const auto metrics = task_metrics(results);
  ASSERT_EQ(metrics.size(), 2u);
  EXPECT_EQ(metrics[0].key, MetricKey{MetricId::perplexity});
  EXPECT_DOUBLE_EQ(metrics[0].value, std::exp(3.0));
  EXPECT_DOUBLE_EQ(*metrics[0].standard_error, std::exp(3.0) * std::sqrt(7.0) / std::sqrt(3.0));
  EXPECT_DOUBLE_EQ(metrics[1].value, 1.0 / 3);
  EXPECT_DOUBLE_EQ(*metrics[1].standard_error, 1.0 / 3);
}

TEST(Metrics, PerplexitiesAreOfAllTextsTogether) {
  const Task task{.name = "p",
                  .kind = TaskKind::rolling_likelihood,
                  .metrics = {MetricId::word_perplexity, MetricId::byte_perplexity, MetricId::bits_per_byte}};
  std::vector<std::vector<ItemResult>> results;
  results.push_back(item_results(task, {.context = "two words"}, {.log_likelihoods = {-6}}));
  results.push_back(item_results(task, {.context = "é"}, {.log_likelihoods = {-5}}));
  const auto metrics = task_metrics(results);
  ASSERT_EQ(metrics.size(), 3u);
  EXPECT_DOUBLE_EQ(metrics[0].value, std::exp(11.0 / 3));
  EXPECT_DOUBLE_EQ(metrics[1].value, std::exp(1.0));
  EXPECT_DOUBLE_EQ(metrics[2].value, 1 / std::log(2.0));
  EXPECT_FALSE(metrics[2].standard_error);
}

}  // namespace
}  // namespace crope::eval
