#include "crope/train/train_job.h"

#include <gtest/gtest.h>

#include "crope/base/error.h"
#include "tests/train/tiny_run.h"

namespace crope::train {
namespace {

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

  TinyRun tiny_;
};

TEST_F(TrainJobTest, NothingIsLeftToBeChosen) {
  const TrainJob job = resolve_job(tiny_.request("run", {{"micro_batch_size", 0}, {"precision", "auto"}}));
  EXPECT_EQ(job.config.micro_batch_size, 4) << "no more than the batch";
  EXPECT_NE(job.config.precision, "auto");
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
  EXPECT_NE(refusal({.given = Json::object(), .run = tiny_.path("run"), .data = {}, .init_from = {}}).find("--data"),
            std::string::npos);
}

TEST_F(TrainJobTest, ADamagedRecordIsNamed) {
  tiny_.run("run", {{"steps", 4}});
  write_json(tiny_.path("run") / "run.json", {{"train", 3}});
  EXPECT_NE(refusal(tiny_.request("run")).find("run.json"), std::string::npos);
}

}  // namespace
}  // namespace crope::train
