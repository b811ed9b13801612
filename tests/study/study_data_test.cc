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
  EXPECT_EQ(study.warnings[0], "skipped rope_1: it has the same losses as rope_0, so they count as one seed");
  EXPECT_EQ(study.runs.size(), 3u);
}

TEST_F(StudyFolder, EqualValidationLossesAloneAreACopyToo) {
  for (const char* run : {"rope_0", "rope_1"}) {
    write_file(folder_ / run / "metrics.jsonl", "{\"step\":1,\"val_loss\":4}\n{\"step\":2,\"val_loss\":3.25}\n");
  }
  EXPECT_EQ(read_study(folder_.path()).runs.size(), 3u);
  write_file(folder_ / "rope_1/metrics.jsonl", "{\"step\":1,\"val_loss\":4.1}\n{\"step\":2,\"val_loss\":3.25}\n");
  EXPECT_EQ(read_study(folder_.path()).runs.size(), 4u);
}

TEST_F(StudyFolder, EqualAnswersWithoutLossesAreACopy) {
  const char* items = "{\"task\":\"hellaswag\",\"correct\":\"0111\"}\n";
  for (const char* run : {"crope_qk_0", "crope_qk_1", "crope_qk_2"}) {
    fs::create_directories(folder_ / run);
    write_file(folder_ / run / "items.jsonl", items);
  }
  write_file(folder_ / "crope_qk_2/items.jsonl", "{\"task\":\"hellaswag\",\"correct\":\"1111\"}\n");
  EXPECT_EQ(read_study(folder_.path()).runs.size(), 6u) << "a folder with items.jsonl alone is a run";
}

TEST_F(StudyFolder, LossesOfAnEarlierValidationAreSkipped) {
  write_file(folder_ / "rope_1/metrics.jsonl", "{\"step\":1,\"val_loss\":3}\n{\"step\":2,\"loss\":3}\n");
  const Study study = read_study(folder_.path());
  ASSERT_EQ(study.warnings.size(), 1u);
  EXPECT_EQ(study.warnings[0], "skipped the losses of rope_1: its last validation is at step 1, others at 2");
  EXPECT_FALSE(study.runs[1].val_loss);
  EXPECT_TRUE(study.runs[1].is_finished);
}

TEST_F(StudyFolder, PartialModelsAreOneWarning) {
  for (const char* run : {"rope_0", "crope_all_1"}) {
    Json record = read_json(folder_ / run / "run.json");
    record["model"].erase("d_ff");
    write_json(folder_ / run / "run.json", record);
  }
  const Study study = read_study(folder_.path());
  ASSERT_EQ(study.warnings.size(), 1u);
  EXPECT_EQ(study.warnings[0],
            "the model of rope_0, crope_all_1 cannot be read: run.json: the field 'd_ff' is missing");
  change([](Json& record) { record["model"]["num_layers"] = 7; });
  EXPECT_NE(message().find("model.num_layers"), std::string::npos) << "the fields that are there are compared";
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

TEST_F(StudyFolder, ThreadsAndOmittedDefaultsDoNotMatter) {
  change([](Json& record) {
    record["train"]["threads"] = 64;
    record["train"]["lr"] = 0.002;
    record["train"]["beta1"] = 0.9;
    record["train"]["precision"] = "fp32";
    record["model"]["qk_gain"] = "free";
    record["model"]["init"]["projection_gain"] = 1;
  });
  EXPECT_EQ(message(), "");
}

TEST_F(StudyFolder, AnOmittedSettingIsItsDefault) {
  change([](Json& record) { record["train"].erase("warmup_steps"); });
  EXPECT_NE(message().find("train.warmup_steps is 1 in rope_0/run.json and 50 in crope_all_1/run.json"),
            std::string::npos)
      << message();
  change([](Json& record) {
    record["train"]["warmup_steps"] = 1;
    record["model"]["qk_gain"] = "none";
  });
  EXPECT_NE(message().find("model.qk_gain is \"free\" in rope_0/run.json and \"none\" in crope_all_1/run.json"),
            std::string::npos)
      << message();
}

TEST_F(StudyFolder, AMissingFingerprintIsADifference) {
  change([](Json& record) { record.erase("data"); });
  EXPECT_NE(message().find("data.fingerprint is \"abc\" in rope_0/run.json and missing in crope_all_1/run.json"),
            std::string::npos)
      << message();
}

TEST_F(StudyFolder, UnknownSettingsAreWarningsAtMost) {
  for (const char* run : {"rope_0", "rope_1", "crope_all_0", "crope_all_1"}) {
    Json record = read_json(folder_ / run / "run.json");
    record["train"]["out"] = run;
    write_json(folder_ / run / "run.json", record);
  }
  const Study study = read_study(folder_.path());
  ASSERT_EQ(study.warnings.size(), 1u);
  EXPECT_EQ(study.warnings[0],
            "the unknown setting train.out is \"rope_0\" in rope_0/run.json and \"rope_1\" in rope_1/run.json; it is "
            "not compared");
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

TEST_F(StudyFolder, MistakesHaveAHint) {
  const auto error_of = [&](const fs::path& path) -> std::string {
    try {
      read_study(path);
    } catch (const Error& error) {
      return std::string(error.what()) + " | " + error.hint();
    }
    return "";
  };
  EXPECT_NE(error_of(folder_ / "absent").find("absent: no such folder"), std::string::npos);
  EXPECT_NE(error_of(folder_ / "rope_0/run.json").find("not a folder"), std::string::npos);
  EXPECT_NE(error_of(folder_ / "rope_0").find("rope_0 is one run"), std::string::npos) << error_of(folder_ / "rope_0");
  const test::TemporaryFolder outer;
  test::write_run(outer / "main", "rope", 0, 3);
  test::write_run(outer / "wide", "rope", 0, 3);
  EXPECT_NE(error_of(outer.path())
                .find(fmt::format("there are studies below it: {}, {}", (outer / "main").string(),
                                  (outer / "wide").string())),
            std::string::npos)
      << error_of(outer.path());
}

TEST_F(StudyFolder, UnfinishedRunsAreSkipped) {
  write_file(folder_ / "crope_all_1/metrics.jsonl", "{\"step\":1,\"loss\":3}\n{\"step\":1,\"val_loss\":2}\n");
  const Study study = read_study(folder_.path());
  ASSERT_EQ(study.runs.size(), 4u);
  for (const StudyRun& run : study.runs) EXPECT_EQ(run.is_finished, run.name != "crope_all_1");
  ASSERT_EQ(study.warnings.size(), 1u);
  EXPECT_EQ(study.warnings[0], "skipped crope_all_1: it stopped at step 1, others at 2");
}

}  // namespace
}  // namespace crope::study
