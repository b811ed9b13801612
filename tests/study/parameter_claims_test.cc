#include "crope/study/parameter_claims.h"

#include <gtest/gtest.h>

#include "tests/study/synthetic_study.h"

namespace crope::study {
namespace {

Study counted_study() {
  Study study;
  for (const model::VariantTraits& row : model::kVariants) {
    StudyRun run = test::loss_run(std::string(row.name), 0, 3);
    run.parameters = model::count_parameters({.variant = row.variant});
    study.runs.push_back(run);
  }
  return study;
}

TEST(ParameterClaims, HoldForThePapersShapes) {
  const std::vector<Claim> claims = judge_parameters(counted_study());
  EXPECT_EQ(claims.size(), 6u);
  for (const Claim& claim : claims) {
    EXPECT_EQ(claim.verdict, Verdict::holds) << claim.text;
    EXPECT_TRUE(claim.paper_verdict.starts_with("holds: ")) << claim.text;
    EXPECT_EQ(claim.seeds, 0u);
    EXPECT_FALSE(claim.p);
  }
  EXPECT_EQ(test::find_claim(claims, "crope_qkv saves 37.5%").ours, "37.5%");
  EXPECT_EQ(test::find_claim(claims, "crope_all and half_rope_all").reason,
            "counted exactly; crope_all has 2,048 norm gains more");
}

TEST(ParameterClaims, EqualNormGainsAreMentioned) {
  Study study = counted_study();
  for (StudyRun& run : study.runs) run.parameters->norm = 10;
  EXPECT_EQ(test::find_claim(judge_parameters(study), "crope_qk and half_rope_qk").reason,
            "counted exactly; norm gains are equal too");
}

TEST(ParameterClaims, FailByASingleParameter) {
  Study study = counted_study();
  for (StudyRun& run : study.runs) {
    if (run.variant == "crope_all") run.parameters->attention += 1;
    if (run.variant == "crope_qk") run.parameters->feed_forward += 1;
  }
  const std::vector<Claim> claims = judge_parameters(study);
  EXPECT_EQ(test::find_claim(claims, "crope_all saves").verdict, Verdict::does_not_hold);
  EXPECT_EQ(test::find_claim(claims, "crope_all and half_rope_all").verdict, Verdict::does_not_hold);
  EXPECT_EQ(test::find_claim(claims, "embedding and feed-forward").verdict, Verdict::does_not_hold);
  EXPECT_EQ(test::find_claim(claims, "crope_qkv saves").verdict, Verdict::holds);
  EXPECT_EQ(test::find_claim(claims, "embedding and feed-forward").ours, "51,511,296 and 50,331,648 to 50,331,649");
}

TEST(ParameterClaims, OfMissingVariantsAreNotMeasured) {
  Study study = counted_study();
  study.runs.resize(1);
  for (const Claim& claim : judge_parameters(study)) {
    EXPECT_EQ(claim.verdict, Verdict::not_measured) << claim.text;
    EXPECT_NE(claim.reason, "") << claim.text;
  }
}

}  // namespace
}  // namespace crope::study
