#include "crope/train/train_job.h"

#include <gtest/gtest.h>

#include "crope/base/error.h"
#include "crope/run/run_dir.h"
#include "tests/train/tiny_run.h"

namespace crope::train {
namespace {

namespace fs = std::filesystem;

class TrainJobTest : public testing::Test {
 protected:
  // What the user reads when the request is refused.
  std::string refusal(const JobRequest& request) {
    try {
      resolve_job(request);
    } catch (const Error& e) {
      return std::string(e.what()) + " | " + e.hint();
    }
    return "accepted";
  }

  // A data directory with a training part of 500 tokens and no validation part.
  void make_text(const std::string& name, std::uint64_t seed) {
    fs::create_directories(tiny_.path(name));
    write_shard(tiny_.path(name) / "train_000000.bin", 500, seed);
  }

  static void write_info(const fs::path& dir, const std::string& tokenizer, const data::SplitCounts& train,
                         const data::SplitCounts& val) {
    const data::DatasetInfo info{.tokenizer_fingerprint = tokenizer, .vocab_size = 50, .train = train, .val = val};
    write_json(dir / data::kDatasetFile, data::to_json(info));
  }

  TinyRun tiny_;
};

TEST(OtherTextFlag, IsANameAndAFolder) {
  const OtherText text = parse_other_text("wiki_2=data/with=sign");
  EXPECT_EQ(text.name, "wiki_2");
  EXPECT_EQ(text.data, "data/with=sign");
  for (const char* bad : {"", "wiki", "wiki=", "=data", "wi ki=data", "../x=data", "wiki-2=data"}) {
    try {
      parse_other_text(bad);
      ADD_FAILURE() << bad;
    } catch (const UsageError& e) {
      EXPECT_NE(std::string(e.what()).find(std::string("expected NAME=DIR, got '") + bad + "'"), std::string::npos);
      EXPECT_NE(e.hint().find("letters, digits and underscores"), std::string::npos);
    }
  }
}

TEST_F(TrainJobTest, OtherTextsAreChecked) {
  make_text("one", 3);
  JobRequest request = tiny_.request("run");
  request.validate_also = {{"a", tiny_.path("one")}, {"a", tiny_.path("one")}};
  EXPECT_NE(refusal(request).find("the name 'a' is given twice"), std::string::npos) << refusal(request);
  request.validate_also = {{"a", tiny_.path("absent")}};
  EXPECT_NE(refusal(request).find("absent"), std::string::npos) << refusal(request);
  request.validate_also = {{"a", tiny_.path("one")}};
  EXPECT_EQ(refusal(request), "accepted");
  request.given["validate_every"] = 0;
  EXPECT_NE(refusal(request).find("validate_every = 0 turns it off"), std::string::npos) << refusal(request);
}

TEST_F(TrainJobTest, AnotherTextNeedsTheSameTokenizer) {
  make_text("same", 3);
  make_text("other", 3);
  write_info(tiny_.data(), "aaaa", {.tokens = 4000, .shards = 1}, {.tokens = 300, .shards = 1});
  write_info(tiny_.path("same"), "aaaa", {.tokens = 500, .shards = 1}, {});
  write_info(tiny_.path("other"), "bbbb", {.tokens = 500, .shards = 1}, {});
  JobRequest request = tiny_.request("run");
  request.validate_also = {{"same", tiny_.path("same")}};
  EXPECT_EQ(refusal(request), "accepted");
  request.validate_also.push_back({"far", tiny_.path("other")});
  const std::string message = refusal(request);
  EXPECT_NE(message.find("validate_also far: " + tiny_.path("other").string() +
                         " was prepared with another tokenizer than " + tiny_.data().string()),
            std::string::npos)
      << message;
  EXPECT_NE(message.find("crope data prepare"), std::string::npos) << message;
}

TEST_F(TrainJobTest, OtherTextsAreRemembered) {
  make_text("one", 3);
  JobRequest request = tiny_.request("run", {{"steps", 4}});
  request.validate_also = {{"a", tiny_.path("one")}};
  train(resolve_job(request), tiny_.log);
  const TrainJob again = resolve_job(tiny_.request("run", {{"steps", 8}}));
  ASSERT_EQ(again.validate_also.size(), 1u);
  EXPECT_EQ(again.validate_also[0].name, "a");
  EXPECT_EQ(again.validate_also[0].data, tiny_.path("one"));
  EXPECT_EQ(refusal(tiny_.request("run", {{"steps", 8}, {"validate_every", 0}})), "accepted");
}

TEST_F(TrainJobTest, TheNumberOfValidationRowsMakesTheRun) {
  tiny_.run("run", {{"steps", 4}, {"validation_rows", 7}});
  const std::string message = refusal(tiny_.request("run", {{"steps", 8}, {"validation_rows", 9}}));
  EXPECT_NE(message.find("validation_rows: recorded 7, given 9"), std::string::npos) << message;
  // How often it validates does not.
  EXPECT_EQ(
      refusal(tiny_.request("run", {{"validate_every", 2}, {"validate_final_steps", 3}, {"validate_final_every", 1}})),
      "accepted");
  EXPECT_EQ(resolve_job(tiny_.request("run")).config.validation_rows, 7);
}

TEST_F(TrainJobTest, TheRecordHoldsTheCountsOfParameters) {
  tiny_.run("run", {{"steps", 1}, {"variant", "crope_all"}, {"norm_gain", "pair"}, {"qk_gain", "none"}});
  const Json record = read_json(tiny_.path("run") / run::kRecordFile);
  EXPECT_EQ(record["parameters"], (Json{{"embedding", 50 * 16},
                                        {"attention", 4 * 16 * 16 / 2},
                                        {"feed_forward", 3 * 16 * 16},
                                        {"norm", 3 * 16 / 2},
                                        {"total", 50 * 16 + 4 * 16 * 16 / 2 + 3 * 16 * 16 + 3 * 16 / 2}}));
  EXPECT_EQ(record["model"]["norm_gain"], "pair");
  EXPECT_EQ(record["model"]["qk_gain"], "none");
  EXPECT_FALSE(record["model"].contains("head_dim"));
}

// A folder that holds runs and their data can be moved as a whole: paths below it are recorded relative to the run.
TEST_F(TrainJobTest, AMovedStudyGoesOn) {
  const fs::path study = tiny_.path("study");
  fs::create_directory(study);
  fs::rename(tiny_.data(), study / "data");
  make_text("study/wiki", 3);
  make_text("elsewhere", 4);
  JobRequest request = tiny_.request("study/run", {{"steps", 4}});
  request.data = study / "data";
  request.validate_also = {{"wiki", study / "wiki"}, {"far", tiny_.path("elsewhere")}};
  train(resolve_job(request), tiny_.log);
  const Json record = read_json(study / "run" / run::kRecordFile);
  EXPECT_EQ(record["data"]["path"], "../data");
  EXPECT_EQ(record["validate_also"]["wiki"]["path"], "../wiki");
  EXPECT_EQ(record["validate_also"]["far"]["path"], tiny_.path("elsewhere").string()) << "not below the run's folder";

  fs::rename(study, tiny_.path("moved"));
  const TrainJob job =
      resolve_job({.given = {{"steps", 6}}, .run = tiny_.path("moved/run"), .data = {}, .init_from = {}});
  EXPECT_EQ(job.data, tiny_.path("moved/data"));
  EXPECT_EQ(job.validate_also.size(), 2u);
  EXPECT_EQ(train(job, tiny_.log).step, 6);
}

TEST_F(TrainJobTest, ARunBesideNothingItKnowsHasAbsolutePaths) {
  JobRequest request = tiny_.request("deep/run", {{"steps", 1}});
  fs::create_directories(tiny_.path("deep"));
  train(resolve_job(request), tiny_.log);
  EXPECT_EQ(read_json(tiny_.path("deep/run") / run::kRecordFile)["data"]["path"], tiny_.data().string());
}

TEST_F(TrainJobTest, NothingIsLeftToBeChosen) {
  const TrainJob job = resolve_job(tiny_.request("run", {{"micro_batch_size", 0}, {"precision", "auto"}}));
  EXPECT_EQ(job.config.micro_batch_size, 4) << "no more than the batch";
  EXPECT_NE(job.config.precision, Precision::automatic);
  EXPECT_EQ(job.config.threads, 1);
  EXPECT_EQ(job.model.other_keys["init"]["embedding_std"], 0.02) << "config.json records the initialisation";
}

TEST_F(TrainJobTest, TheModelTakesTheLengthThatItIsTrainedOn) {
  EXPECT_EQ(resolve_job(tiny_.request("run", {{"seq_len", 700}, {"batch_size", 1}})).model.max_seq_len, 700);
  EXPECT_NE(refusal(tiny_.request("run", {{"seq_len", 700}, {"max_seq_len", 512}})).find("max_seq_len"),
            std::string::npos);
}

TEST_F(TrainJobTest, ARunGoesOnWithItsOwnSettings) {
  tiny_.run("run", {{"steps", 4}, {"lr", 0.02}});
  const TrainJob job = resolve_job({.given = {{"steps", 8}}, .run = tiny_.path("run"), .data = {}, .init_from = {}});
  EXPECT_EQ(job.config.lr, 0.02);
  EXPECT_EQ(job.config.steps, 8);
  EXPECT_EQ(job.config.seq_len, 8);
  EXPECT_EQ(job.model.d_model, 16);
  EXPECT_EQ(job.data, tiny_.data());
}

TEST_F(TrainJobTest, AnotherConfigurationIsRefusedFieldByField) {
  tiny_.run("run", {{"steps", 4}});
  const std::string message = refusal(tiny_.request("run", {{"lr", 0.5}, {"variant", "crope_all"}}));
  EXPECT_NE(message.find("lr: recorded 0.01, given 0.5"), std::string::npos) << message;
  EXPECT_NE(message.find("variant: recorded \"rope\", given \"crope_all\""), std::string::npos) << message;
}

TEST_F(TrainJobTest, AModelToStartFromGivesTheShape) {
  tiny_.run("run", {{"steps", 4}});
  JobRequest request = tiny_.request("second");
  request.init_from = tiny_.path("run");
  EXPECT_EQ(resolve_job(request).model.d_model, 16) << "the same shape is no conflict";
  request.given["d_model"] = 32;
  EXPECT_NE(refusal(request).find("d_model: recorded 16, given 32"), std::string::npos);
  request.init_from = tiny_.path("absent");
  EXPECT_NE(refusal(request).find("absent does not exist"), std::string::npos);
}

TEST_F(TrainJobTest, WithoutDataThereIsNoNewRun) {
  EXPECT_NE(
      refusal({.given = Json::object(), .run = tiny_.path("run"), .data = {}, .init_from = {}}).find("data directory"),
      std::string::npos);
}

TEST_F(TrainJobTest, ADamagedRecordIsNamed) {
  tiny_.run("run", {{"steps", 4}});
  write_json(tiny_.path("run") / "run.json", {{"train", 3}});
  EXPECT_NE(refusal(tiny_.request("run")).find("run.json"), std::string::npos);
}

}  // namespace
}  // namespace crope::train
