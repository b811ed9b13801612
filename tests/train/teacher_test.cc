#include "crope/train/teacher.h"

#include <gtest/gtest.h>

#include "crope/base/error.h"
#include "crope/run/run_dir.h"
#include "tests/train/tiny_run.h"

namespace crope::train {
namespace {

class Teacher : public testing::Test {
 protected:
  static std::string refusal(const JobRequest& request) {
    try {
      resolve_job(request);
    } catch (const Error& e) {
      return std::string(e.what()) + " | " + e.hint();
    }
    return "accepted";
  }

  TinyRun tiny_;
};

// A student that learns from its teacher alone comes nearer to it.
TEST_F(Teacher, ATeacherIsFollowed) {
  const TrainSummary taught = tiny_.run("teacher", {{"steps", 40}});
  JobRequest asked = tiny_.request("student", {{"variant", "crope_all"}, {"steps", 40}, {"teacher_weight", 1}});
  asked.teacher = tiny_.path("teacher");
  const TrainSummary summary = train(resolve_job(asked), tiny_.log);
  EXPECT_LT(*summary.loss, 0.5) << "a divergence: it began near 1.5";
  EXPECT_NEAR(summary.validation->loss, taught.validation->loss, 0.3) << "the text's loss, which began at 3.9";
  const Json record = read_json(tiny_.path("student") / run::kRecordFile);
  EXPECT_EQ(record["teacher"]["path"], "../teacher");

  // The run remembers its teacher, and refuses another.
  asked.teacher.clear();
  asked.given["steps"] = 41;
  EXPECT_EQ(resolve_job(asked).teacher, tiny_.path("teacher"));
  EXPECT_EQ(train(resolve_job(asked), tiny_.log).step, 41);
  tiny_.run("teacher", {{"steps", 42}});
  asked.given["steps"] = 43;
  EXPECT_THROW(train(resolve_job(asked), tiny_.log), Error);
}

TEST_F(Teacher, ATeacherMustFit) {
  JobRequest asked = tiny_.request("student");
  asked.teacher = tiny_.path("absent");
  EXPECT_NE(refusal(asked).find("does not exist"), std::string::npos) << refusal(asked);
  tiny_.run("other", {{"steps", 1}, {"vocab_size", 64}});
  asked.teacher = tiny_.path("other");
  EXPECT_NE(refusal(asked).find("vocab_size is 64, expected the student's 50"), std::string::npos) << refusal(asked);
  tiny_.run("short", {{"steps", 1}, {"max_seq_len", 8}});
  asked.teacher = tiny_.path("short");
  EXPECT_EQ(refusal(asked), "accepted");
  asked.given["seq_len"] = 9;
  EXPECT_NE(refusal(asked).find("takes at most 8 tokens"), std::string::npos) << refusal(asked);
  asked.teacher.clear();
  asked.given["temperature"] = 2.0;
  EXPECT_NE(refusal(asked).find("temperature is given without a teacher"), std::string::npos) << refusal(asked);
}

}  // namespace
}  // namespace crope::train
