#include "crope/study/claims.h"

#include <gtest/gtest.h>

#include <array>
#include <cmath>

namespace crope::study {
namespace {

Outcome outcome(const std::string& variant, std::int64_t attention, double val_loss, double hellaswag, double error) {
  return {.variant = variant,
          .run = {},
          .parameters = 0,
          .attention_parameters = attention,
          .loss = {},
          .val_loss = val_loss,
          .scores = {{.task = "hellaswag", .metric = "acc_norm", .value = hellaswag, .standard_error = error}}};
}

Verdict verdict_of(const std::vector<Claim>& claims, const std::string& text) {
  for (const Claim& claim : claims) {
    if (claim.text == text) return claim.verdict;
  }
  ADD_FAILURE() << "no claim '" << text << "'";
  return Verdict::not_measured;
}

TEST(Estimate, IsTheMeanWithItsStandardError) {
  const std::array values = {1.0, 2.0, 3.0};
  EXPECT_DOUBLE_EQ(estimate(values).mean, 2);
  EXPECT_DOUBLE_EQ(*estimate(values).error, 1 / std::sqrt(3.0));
  EXPECT_FALSE(estimate(std::array{5.0}).error);
}

TEST(Estimate, NoiseIsTwoErrorsWide) {
  EXPECT_EQ(above_zero({0.3, 0.1}), Verdict::holds);
  EXPECT_EQ(above_zero({0.1, 0.1}), Verdict::within_noise);
  EXPECT_EQ(above_zero({-0.1, 0.1}), Verdict::within_noise);
  EXPECT_EQ(above_zero({-0.3, 0.1}), Verdict::does_not_hold);
  EXPECT_EQ(above_zero({0.1, {}}), Verdict::holds);
  EXPECT_EQ(above_zero({-0.1, {}}), Verdict::does_not_hold);
}

TEST(Claims, AreJudgedByVariantSeedBySeed) {
  const std::vector<Outcome> runs = {
      outcome("rope", 100, 3.00, 0.33, 0.01),         outcome("rope", 100, 3.10, 0.33, 0.01),
      outcome("crope_all", 50, 3.02, 0.325, 0.01),    outcome("crope_all", 50, 3.12, 0.325, 0.01),
      outcome("half_rope_all", 50, 3.10, 0.25, 0.01), outcome("half_rope_all", 50, 3.25, 0.25, 0.01),
  };
  const std::vector<Claim> claims = judge_claims(runs);
  EXPECT_EQ(verdict_of(claims, "crope_all saves attention parameters"), Verdict::holds);
  EXPECT_EQ(verdict_of(claims, "validation loss: rope below crope_all"), Verdict::holds);
  EXPECT_EQ(verdict_of(claims, "validation loss: crope_all below half_rope_all"), Verdict::holds);
  EXPECT_EQ(verdict_of(claims, "hellaswag: crope_all as good as rope"), Verdict::holds);
  EXPECT_EQ(verdict_of(claims, "hellaswag: crope_all better than half_rope_all"), Verdict::holds);
  EXPECT_EQ(verdict_of(claims, "crope_qk saves attention parameters"), Verdict::not_measured);
  EXPECT_EQ(verdict_of(claims, "mmlu: no clear difference between variants"), Verdict::not_measured);
}

TEST(Claims, FailWhereTheOutcomesSayOtherwise) {
  const std::vector<Outcome> runs = {outcome("rope", 100, 3.2, 0.40, 0.01), outcome("crope_all", 60, 3.1, 0.30, 0.01),
                                     outcome("half_rope_all", 50, 3.0, 0.305, 0.01)};
  const std::vector<Claim> claims = judge_claims(runs);
  EXPECT_EQ(verdict_of(claims, "crope_all saves attention parameters"), Verdict::does_not_hold);
  EXPECT_EQ(verdict_of(claims, "validation loss: crope_all below half_rope_all"), Verdict::does_not_hold);
  EXPECT_EQ(verdict_of(claims, "hellaswag: crope_all as good as rope"), Verdict::does_not_hold);
  EXPECT_EQ(verdict_of(claims, "hellaswag: crope_all better than half_rope_all"), Verdict::within_noise);
}

}  // namespace
}  // namespace crope::study
