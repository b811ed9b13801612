#include "crope/study/paper_figures.h"

#include <gtest/gtest.h>

namespace crope::study {
namespace {

TEST(PaperFigures, AreWeighedByTheirItems) {
  EXPECT_NEAR(unpaired_standard_errors(0.327, 0.320, 10'042), 1.06, 0.005);
  EXPECT_NEAR(unpaired_standard_errors(0.331, 0.320, 10'042), 1.66, 0.005);
}

TEST(PaperFigures, HaveNoScoresThatThePaperDoesNotPrint) {
  EXPECT_EQ(paper_score("hellaswag", "crope_all"), 0.327);
  EXPECT_FALSE(paper_score("hellaswag", "crope_qk"));
  EXPECT_FALSE(paper_score("mmlu", "rope"));
  EXPECT_EQ(paper_scores_text("hellaswag", "crope_all", "half_rope_all"), "0.327 against 0.320");
  EXPECT_EQ(paper_scores_text("hellaswag", "crope_qk", "rope"), "0.329 (variant not named) against 0.331");
  EXPECT_EQ(paper_scores_text("hellaswag", "half_rope_qk", "rope"), "-");
  EXPECT_EQ(paper_scores_text("mmlu", "crope_qk", "rope"), "-");
  EXPECT_EQ(paper_difference_verdict("mmlu", "crope_qk", "rope"), "undecided: one seed, and the paper prints no score");
}

TEST(PaperFigures, VerdictsGiveTheirReason) {
  EXPECT_EQ(paper_difference_verdict("hellaswag", "crope_all", "half_rope_all"),
            "undecided: one seed; 0.327 - 0.320 is 1.06 unpaired standard errors on 10,042 items");
  EXPECT_EQ(paper_spread_verdict("mmlu"), "undecided: at chance; even 0.232 is 5.1 standard errors under 0.25");
  EXPECT_EQ(paper_spread_verdict("gsm8k"),
            "undecided: one seed; 0.015 - 0.012 is 0.67 unpaired standard errors on 1,319 items");
  EXPECT_TRUE(paper_best_verdict("hellaswag").starts_with("undecided: one seed; 0.331 - 0.329"));
  EXPECT_TRUE(paper_loss_verdict().starts_with("undecided: one seed"));
  EXPECT_TRUE(paper_stability_verdict().starts_with("undecided: one seed"));
}

}  // namespace
}  // namespace crope::study
