#include "crope/study/run_identity.h"

#include <gtest/gtest.h>

namespace crope::study {
namespace {

const Json kRecord = {
    {"version", "0.1.0"},
    {"model", {{"d_model", 256}, {"variant", "rope"}, {"init", {{"seed", 3}, {"embedding_std", 0.02}}}}},
    {"train", {{"steps", 620}, {"lr", 0.004}, {"seed", 3}, {"threads", 1}, {"validate_every", 100}}},
    {"data", {{"path", "../data"}, {"fingerprint", "abc"}}},
    {"init_from", ""}};

TEST(RunIdentity, HoldsWhatChangesTheResultAndNothingElse) {
  const std::map<std::string, Json> expected = {{"model.d_model", 256},      {"model.init", {{"embedding_std", 0.02}}},
                                                {"train.steps", 620},        {"train.lr", 0.004},
                                                {"data.fingerprint", "abc"}, {"init_from", ""}};
  EXPECT_EQ(run_identity(kRecord), expected);
}

TEST(RunIdentity, IsTheSameForAnotherSeedVariantOrNumberOfThreads) {
  Json other = kRecord;
  other["model"]["variant"] = "crope_all";
  other["model"]["init"]["seed"] = 4;
  other["train"]["seed"] = 4;
  other["train"]["threads"] = 2;
  other["train"]["validate_final_every"] = 40;
  EXPECT_EQ(run_identity(other), run_identity(kRecord));
  other["train"]["validation_rows"] = 64;
  EXPECT_NE(run_identity(other), run_identity(kRecord));
}

TEST(RunIdentity, OfADamagedRecordIsWhatCanBeRead) {
  EXPECT_TRUE(run_identity(nullptr).empty());
  EXPECT_TRUE(run_identity({{"model", 3}, {"train", Json::array()}, {"data", "x"}}).empty());
}

}  // namespace
}  // namespace crope::study
