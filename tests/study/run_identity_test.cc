#include "crope/study/run_identity.h"

#include <gtest/gtest.h>

namespace crope::study {
namespace {

const Json kRecord = {{"version", "0.1.0"},
                      {"model",
                       {{"vocab_size", 512},
                        {"num_layers", 2},
                        {"num_heads", 4},
                        {"d_model", 256},
                        {"d_ff", 512},
                        {"rope_theta", 5000.0},
                        {"norm_eps", 1e-6},
                        {"max_seq_len", 512},
                        {"variant", "rope"},
                        {"init", {{"seed", 3}, {"embedding_std", 0.02}}}}},
                      {"train", {{"steps", 620}, {"lr", 0.004}, {"seed", 3}, {"threads", 1}, {"validate_every", 100}}},
                      {"data", {{"path", "../data"}, {"fingerprint", "abc"}}},
                      {"init_from", ""}};

TEST(RunIdentity, HoldsWhatChangesTheResultAndNothingElse) {
  const std::map<std::string, Json> fields = run_identity(kRecord).fields;
  EXPECT_EQ(fields.at("train.steps"), 620);
  EXPECT_EQ(fields.at("train.lr"), 0.004);
  EXPECT_EQ(fields.at("train.min_lr"), 4e-4) << "a default that the record omits";
  EXPECT_EQ(fields.at("train.precision"), "fp32") << "auto on a CPU";
  EXPECT_EQ(fields.at("data.fingerprint"), "abc");
  EXPECT_EQ(fields.at("init_from"), "");
  EXPECT_EQ(fields.at("model.qk_gain"), "free");
  EXPECT_EQ(fields.at("model.qk_norm"), true);
  EXPECT_EQ(fields.at("model.init.projection_gain"), 1);
  for (const char* other : {"train.seed", "train.threads", "train.validate_every", "model.variant", "model.init"}) {
    EXPECT_FALSE(fields.contains(other)) << other;
  }
  EXPECT_TRUE(run_identity(kRecord).unknown.empty());
}

TEST(RunIdentity, IsTheSameForAnotherSeedVariantOrNumberOfThreads) {
  Json other = kRecord;
  other["model"]["variant"] = "crope_all";
  other["model"]["init"]["seed"] = 4;
  other["train"]["seed"] = 4;
  other["train"]["threads"] = 2;
  other["train"]["validate_final_every"] = 40;
  EXPECT_EQ(run_identity(other).fields, run_identity(kRecord).fields);
  other["train"]["validation_rows"] = 16;
  EXPECT_NE(run_identity(other).fields, run_identity(kRecord).fields);
}

TEST(RunIdentity, WritesNumbersAlike) {
  Json other = kRecord;
  other["train"]["steps"] = 620.0;
  other["train"]["grad_clip"] = 0;
  other["model"]["rope_theta"] = 5000;
  EXPECT_EQ(Json(run_identity(other).fields).dump(), Json(run_identity(kRecord).fields).dump());
}

TEST(RunIdentity, KeepsUnknownSettingsApart) {
  Json other = kRecord;
  other["train"]["out"] = "runs/rope_0";
  other["model"]["colour"] = "red";
  EXPECT_EQ(run_identity(other).fields, run_identity(kRecord).fields);
  EXPECT_EQ(run_identity(other).unknown,
            (std::map<std::string, Json>{{"train.out", "runs/rope_0"}, {"model.colour", "red"}}));
}

TEST(RunIdentity, OfAModelThatCannotBeReadHasTheFieldsThatAreThere) {
  Json other = kRecord;
  other["model"].erase("d_ff");
  const std::map<std::string, Json> fields = run_identity(other).fields;
  EXPECT_EQ(fields.at("model.d_model"), 256);
  EXPECT_FALSE(fields.contains("model.d_ff"));
  EXPECT_FALSE(fields.contains("model.qk_gain"));
}

TEST(RunIdentity, OfADamagedRecordIsWhatCanBeRead) {
  EXPECT_TRUE(run_identity(nullptr).fields.empty());
  EXPECT_TRUE(run_identity({{"model", 3}, {"train", Json::array()}, {"data", "x"}}).fields.empty());
}

}  // namespace
}  // namespace crope::study
