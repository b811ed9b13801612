#include "crope/study/accuracy.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <random>

namespace crope::study {
namespace {

Score from_items(const std::string& correct) {
  return {.value = static_cast<double>(std::ranges::count(correct, '1')) / static_cast<double>(correct.size()),
          .leaves = {{"hellaswag", correct}}};
}

// McNemar's: b = 3 items right in a only, c = 1 right in b only, of 10.
TEST(Accuracy, OfOneSeedHasTheErrorOfDiscordantItems) {
  const Score a = from_items("1111100000"), b = from_items("1100010000");
  const Difference difference = accuracy_difference({&a}, {&b});
  EXPECT_DOUBLE_EQ(difference.mean, 0.2);
  EXPECT_NEAR(difference.standard_error, std::sqrt(3 + 1 - 2.0 * 2.0 / 10) / 10, 1e-12);
}

// Two seeds differ by 0.5 and 0: variance over seeds 0.125 / 2. The items' mean differences are 1, 0.5, 0, -0.5: mean
// 0.25, variance 0.3125, over 4 items.
TEST(Accuracy, AddsTheVarianceOfSeedsAndOfItems) {
  const Score a0 = from_items("1100"), a1 = from_items("1000");
  const Score b0 = from_items("0000"), b1 = from_items("0001");
  const Difference difference = accuracy_difference({&a0, &a1}, {&b0, &b1});
  EXPECT_DOUBLE_EQ(difference.mean, 0.25);
  EXPECT_NEAR(difference.standard_error, std::sqrt(0.125 / 2 + 0.3125 / 4), 1e-12);
  EXPECT_EQ(difference.seeds, 2u);
}

TEST(Accuracy, AboveChance) {
  const Score a = from_items("1100"), b = from_items("1000");
  const Difference above = accuracy_above({&a, &b}, 0.25);
  EXPECT_DOUBLE_EQ(above.mean, 0.125);
  // Items 1, 0.5, 0, 0: variance 0.171875.
  EXPECT_NEAR(above.standard_error, std::sqrt(0.03125 / 2 + 0.171875 / 4), 1e-12);
}

TEST(Accuracy, WithoutItemsErrorsAddAsIfUnpaired) {
  const Score a{.value = 0.3, .error = 0.03}, b{.value = 0.2, .error = 0.04};
  EXPECT_NEAR(accuracy_difference({&a}, {&b}).standard_error, 0.05, 1e-12);
  EXPECT_EQ(comparison_problem(std::vector<Scores>{{&a}, {&b}}), "");
  const Score unknown{.value = 0.3};
  EXPECT_NE(comparison_problem(std::vector<Scores>{{&a}, {&unknown}}), "");
}

TEST(Accuracy, ItemsMustMatch) {
  const Score four = from_items("1100"), three = from_items("110");
  EXPECT_EQ(comparison_problem(std::vector<Scores>{{&four}, {&three}}),
            "hellaswag has 4 items in one items.jsonl and 3 in another");
  const Score one{.leaves = {{"mmlu_anatomy", "1"}}}, two{.leaves = {{"mmlu_anatomy", "1"}, {"mmlu_virology", "1"}}};
  EXPECT_NE(comparison_problem(std::vector<Scores>{{&one}, {&two}}), "");
  EXPECT_NE(comparison_problem(std::vector<Scores>{{&two}, {&one}}), "");
  const Score bad{.leaves = {{"hellaswag", "1"}}, .problem = "damaged"};
  EXPECT_EQ(comparison_problem(std::vector<Scores>{{&bad}}), "damaged");
}

// All means of variants and of seeds are 0.5, so that the residuals are +0.25 or -0.25 in all four cells.
TEST(Accuracy, PairsShareTheResidualOfTheBlocks) {
  const Score a0{.value = 0.75, .error = 0}, a1{.value = 0.25, .error = 0};
  const Score b0{.value = 0.25, .error = 0}, b1{.value = 0.75, .error = 0};
  const std::vector<Scores> variants = {{&a0, &a1}, {&b0, &b1}};
  const std::vector<Difference> pairs = pairwise_differences(variants);
  ASSERT_EQ(pairs.size(), 1u);
  EXPECT_DOUBLE_EQ(pairs[0].mean, 0);
  // Squares 4 x 0.0625 over one degree; a difference of means of two seeds has 2 x 0.25 / 2.
  EXPECT_NEAR(pairs[0].standard_error, 0.5, 1e-12);
  EXPECT_NEAR(pairs[0].standard_error, accuracy_difference(variants[0], variants[1]).standard_error, 1e-12)
      << "two variants: the paired test";
}

// Two models that answer the same items equally well, with items of different difficulty: 5% of 2,000 comparisons are
// 100.
TEST(Accuracy, EqualModelsRarelyDiffer) {
  std::mt19937_64 random(6);
  std::uniform_real_distribution<double> uniform;
  int wrong = 0;
  for (int study = 0; study < 2000; ++study) {
    std::vector<double> difficulty(100);
    for (double& value : difficulty) value = uniform(random);
    std::vector<Score> scores;
    for (int run = 0; run < 6; ++run) {
      std::string correct;
      for (const double value : difficulty) correct += uniform(random) > value ? '1' : '0';
      scores.push_back(from_items(correct));
    }
    const Difference difference =
        accuracy_difference({&scores[0], &scores[1], &scores[2]}, {&scores[3], &scores[4], &scores[5]});
    wrong += order_evidence(difference).p <= 0.05 ? 1 : 0;
  }
  EXPECT_LE(wrong, 120);
}

TEST(Accuracy, SeedEffectsOfAllVariantsCancel) {
  const std::array<Score, 6> s = {{{.value = 0.3, .error = 0.01},
                                   {.value = 0.4, .error = 0.01},
                                   {.value = 0.32, .error = 0.01},
                                   {.value = 0.42, .error = 0.01},
                                   {.value = 0.31, .error = 0.01},
                                   {.value = 0.41, .error = 0.01}}};
  const std::vector<Scores> variants = {{&s[0], &s[1]}, {&s[2], &s[3]}, {&s[4], &s[5]}};
  for (const Difference& pair : pairwise_differences(variants)) {
    EXPECT_NEAR(pair.standard_error, 0.01 * std::sqrt(2.0), 1e-9) << "only the items' errors are left";
  }
}

}  // namespace
}  // namespace crope::study
