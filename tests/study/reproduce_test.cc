#include "crope/study/reproduce.h"

#include <gtest/gtest.h>

#include <set>

#include "crope/base/error.h"
#include "crope/run/run_dir.h"
#include "tests/study/synthetic_study.h"
#include "tests/temporary_folder.h"

namespace crope::study {
namespace {

TEST(Reproduce, ScalesByName) {
  EXPECT_STREQ(scale_by_name("small").recipe, "small_cpu");
  EXPECT_EQ(scale_by_name("small").seeds, 5);
  EXPECT_TRUE(scale_by_name("paper").needs_data);
  try {
    scale_by_name("smal");
    FAIL() << "found";
  } catch (const UsageError& error) {
    EXPECT_NE(error.hint().find("small"), std::string::npos);
  }
}

// Every study validates on the whole validation part.
TEST(Reproduce, ScalesValidateOnEverything) {
  for (const char* name : {"smoke", "world", "small", "paper"}) {
    EXPECT_EQ(scale_by_name(name).differences.at("validation_rows"), 0) << name;
  }
}

TEST(Reproduce, PlansEveryVariantOfEverySeedInTurn) {
  const test::TemporaryFolder folder;
  const auto done = test::write_run(folder.path(), "crope_qk", 1, 3.0);  // of two steps
  std::filesystem::create_directories(done / "checkpoints/step_00000002");
  run::link_checkpoint(done, run::kLatestLink, 2);
  const ReproduceOptions options{.scale = scale_by_name("smoke"), .out = folder.path(), .seeds = 2};
  const std::vector<PlannedRun> runs = planned_runs(options);
  ASSERT_EQ(runs.size(), 12u);
  std::set<std::string> first_variants;
  for (std::size_t i = 0; i < 6; ++i) {
    EXPECT_EQ(runs[i].seed, 0);
    first_variants.insert(runs[i].variant);
  }
  EXPECT_EQ(first_variants.size(), 6u);
  for (const PlannedRun& run : runs) {
    EXPECT_EQ(run.run, folder / (run.variant + "_" + std::to_string(run.seed)));
    EXPECT_EQ(run.is_done, run.variant == "crope_qk" && run.seed == 1) << run.run;
  }
}

TEST(Reproduce, OneRunAlone) {
  const test::TemporaryFolder folder;
  ReproduceOptions options{.scale = scale_by_name("smoke"), .out = folder.path(), .seeds = 2, .only = "crope_all_1"};
  ASSERT_EQ(planned_runs(options).size(), 1u);
  EXPECT_EQ(planned_runs(options)[0].variant, "crope_all");
  options.only = "crope_all_2";
  EXPECT_THROW(planned_runs(options), UsageError);
}

TEST(Reproduce, ThePapersScaleNeedsData) {
  const test::TemporaryFolder folder;
  Log silent(nullptr);
  const ReproduceOptions options{.scale = scale_by_name("paper"), .out = folder / "study"};
  EXPECT_THROW(study_corpus(options, silent), UsageError);
  EXPECT_FALSE(std::filesystem::exists(folder / "study"));
}

}  // namespace
}  // namespace crope::study
