#include "crope/study/study_data.h"

#include <gtest/gtest.h>

#include "crope/base/error.h"
#include "tests/study/synthetic_study.h"
#include "tests/temporary_folder.h"

namespace crope::study {
namespace {

namespace fs = std::filesystem;

class StudyFolder : public testing::Test {
 protected:
  void SetUp() override {
    for (const int seed : {0, 1}) {
      for (const char* variant : {"rope", "crope_all"}) test::write_run(folder_.path(), variant, seed, 3 + 0.01 * seed);
    }
  }

  // Changes run.json of crope_all_1.
  template <typename Change>
  void change(const Change& change) {
    const fs::path path = folder_ / "crope_all_1/run.json";
    Json record = read_json(path);
    change(record);
    write_json(path, record);
  }

  std::string message() const {
    try {
      read_study(folder_.path());
    } catch (const Error& error) {
      EXPECT_FALSE(error.hint().empty()) << error.what();
      return error.what();
    }
    return "";
  }

  test::TemporaryFolder folder_;
};

TEST_F(StudyFolder, HasItsRunsInOrderAndIgnoresOtherFolders) {
  for (const char* other : {"report", "rope", "rope_x", "rope_1_old", "crope_some_1", "half_rope_all_7"}) {
    fs::create_directories(folder_ / other);
  }
  fs::copy(folder_ / "rope_0", folder_ / "rope_old");
  write_file(folder_ / "rope_9", "a file");
  const Study study = read_study(folder_.path());
  std::vector<std::string> names;
  for (const StudyRun& run : study.runs) names.push_back(run.name);
  EXPECT_EQ(names, (std::vector<std::string>{"rope_0", "rope_1", "crope_all_0", "crope_all_1"}));
  EXPECT_EQ(study.warnings.size(), 0u) << study.warnings.front();
}

TEST_F(StudyFolder, WithoutRunsIsAnError) {
  fs::create_directories(folder_ / "empty/report");
  EXPECT_THROW(read_study(folder_ / "empty"), Error);
  EXPECT_THROW(read_study(folder_ / "absent"), Error);
}

TEST_F(StudyFolder, ASeedMayNotBeThereTwice) {
  fs::copy(folder_ / "rope_1", folder_ / "rope_01");
  EXPECT_NE(message().find("are both seed 1 of rope"), std::string::npos) << message();
}

TEST_F(StudyFolder, ACopyUnderAnotherSeedIsAnError) {
  fs::copy(folder_ / "rope_1", folder_ / "rope_2");
  EXPECT_NE(message().find("rope_2/run.json: the seed is 1"), std::string::npos) << message();
}

TEST_F(StudyFolder, EqualLossesOfTwoSeedsAreReported) {
  fs::copy_file(folder_ / "rope_0/metrics.jsonl", folder_ / "rope_1/metrics.jsonl",
                fs::copy_options::overwrite_existing);
  const Study study = read_study(folder_.path());
  ASSERT_EQ(study.warnings.size(), 1u);
  EXPECT_NE(study.warnings[0].find("rope_0 and rope_1 have the same training losses"), std::string::npos);
}

TEST_F(StudyFolder, OtherSettingsAreNamed) {
  change([](Json& record) { record["train"]["lr"] = 1e-3; });
  EXPECT_NE(message().find("train.lr is 0.002 in rope_0/run.json and 0.001 in crope_all_1/run.json"), std::string::npos)
      << message();
}

TEST_F(StudyFolder, AnotherModelIsNamed) {
  change([](Json& record) { record["model"]["num_heads"] = 4; });
  EXPECT_NE(message().find("model.num_heads"), std::string::npos) << message();
}

TEST_F(StudyFolder, OtherDataAreNamed) {
  change([](Json& record) { record["data"]["fingerprint"] = "xyz"; });
  EXPECT_NE(message().find("data.fingerprint"), std::string::npos) << message();
}

TEST_F(StudyFolder, ThreadsAndMissingFieldsDoNotMatter) {
  change([](Json& record) {
    record["train"]["threads"] = 64;
    record["train"].erase("warmup_steps");
    record["train"]["a_new_setting"] = 1;
  });
  EXPECT_EQ(message(), "");
}

TEST_F(StudyFolder, AnotherBuildIsAWarning) {
  change([](Json& record) {
    record["version"] = "0.2.0";
    record["build"] = "abc";
  });
  const Study study = read_study(folder_.path());
  ASSERT_EQ(study.warnings.size(), 1u);
  EXPECT_EQ(study.warnings[0],
            "the runs come from different builds: version is \"0.1.0\" in rope_0 and \"0.2.0\" in crope_all_1");
}

TEST_F(StudyFolder, UnfinishedRunsAreSkipped) {
  write_file(folder_ / "crope_all_1/metrics.jsonl", "{\"step\":1,\"loss\":3}\n{\"step\":1,\"val_loss\":2}\n");
  const Study study = read_study(folder_.path());
  EXPECT_EQ(study.runs.size(), 3u);
  ASSERT_EQ(study.warnings.size(), 1u);
  EXPECT_EQ(study.warnings[0], "skipped crope_all_1: it stopped at step 1, others at 2");
}

}  // namespace
}  // namespace crope::study
