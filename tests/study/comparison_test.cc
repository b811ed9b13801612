#include "crope/study/comparison.h"

#include <gtest/gtest.h>

#include <cmath>

#include "crope/base/error.h"
#include "tests/study/synthetic_study.h"
#include "tests/temporary_folder.h"

namespace crope::study {
namespace {

std::vector<RunSet> sets_of(const std::vector<std::string>& arguments) {
  std::vector<std::string> warnings;
  std::vector<RunSet> sets;
  for (const std::string& argument : arguments) {
    for (RunSet& set : read_run_sets(argument, warnings)) sets.push_back(std::move(set));
  }
  return sets;
}

TEST(Comparison, PairsRunsOfTwoStudiesBySeed) {
  const test::TemporaryFolder folder;
  const double rope[] = {3.0, 3.2, 3.1};
  for (int seed = 0; seed < 3; ++seed) {
    test::write_run(folder / "main", "rope", seed, rope[seed]);
    test::write_run(folder / "main", "crope_all", seed, rope[seed] + 0.1);
    if (seed > 0) test::write_run(folder / "wide", "crope_all", seed, rope[seed] + 0.01 * seed);
  }
  const auto texts =
      compare_sets(sets_of({(folder / "main/rope").string(), "wide=" + (folder / "wide/crope_all").string()}));
  ASSERT_EQ(texts.size(), 2u);
  EXPECT_EQ(texts[0].name, "");
  EXPECT_EQ(texts[1].name, "wiki");
  ASSERT_EQ(texts[0].rows.size(), 2u);
  const ComparisonRow &first = texts[0].rows[0], &second = texts[0].rows[1];
  EXPECT_EQ(first.label, "rope");
  EXPECT_EQ(second.label, "wide");
  EXPECT_NEAR(first.loss.mean, 3.1, 1e-12);
  EXPECT_FALSE(first.difference);
  // Seeds 1 and 2 are in both: differences 0.01 and 0.02, t = 3 with one degree of freedom.
  ASSERT_TRUE(second.difference && second.p);
  EXPECT_EQ(second.difference->size, 2u);
  EXPECT_NEAR(second.difference->mean, 0.015, 1e-12);
  EXPECT_NEAR(*second.p, 0.204833, 1e-6);
  EXPECT_NEAR(second.difference_interval->high, 0.015 + 12.7062 * 0.005, 1e-5);
  EXPECT_NEAR(texts[1].rows[0].loss.mean, 4.1, 1e-12);
  EXPECT_EQ(comparison_to_json(texts).size(), 4u);
}

TEST(Comparison, AStudyStandsForAllItsVariants) {
  const test::TemporaryFolder folder;
  for (int seed = 0; seed < 2; ++seed) {
    test::write_run(folder.path(), "crope_all", seed, 3.5 + 0.01 * seed);
    test::write_run(folder.path(), "rope", seed, 3.4 + 0.01 * seed);
  }
  const auto sets = sets_of({folder.path().string()});
  ASSERT_EQ(sets.size(), 2u);
  EXPECT_EQ(sets[0].label, "rope");  // the order of the paper's table
  EXPECT_EQ(sets[1].runs.size(), 2u);
  // The same difference twice, in two decimals: t = 0.1 / (0.01 / sqrt(12)) = 34.64 with one degree.
  EXPECT_NEAR(*compare_sets(sets)[0].rows[1].p, 0.018373, 1e-5);
}

TEST(Comparison, EqualDifferencesOfFullPrecisionShowNothing) {
  const test::TemporaryFolder folder;
  for (int seed = 0; seed < 3; ++seed) {
    const double loss = 3.4 + 0.0123456789012345 * seed * seed;
    test::write_run(folder.path(), "rope", seed, loss);
    test::write_run(folder.path(), "crope_all", seed, loss + 0.1);
  }
  const ComparisonRow row = compare_sets(sets_of({folder.path().string()}))[0].rows[1];
  EXPECT_EQ(*row.p, 1);
  EXPECT_FALSE(row.difference_interval);
}

TEST(Comparison, LossesThatAreNotFiniteAreSkippedWithAWarning) {
  const test::TemporaryFolder folder;
  for (int seed = 0; seed < 3; ++seed) {
    test::write_run(folder.path(), "rope", seed, 3.4 + 0.01 * seed);
    test::write_run(folder.path(), "crope_all", seed, 3.5 + 0.013 * seed);
  }
  write_file(
      folder / "crope_all_1/metrics.jsonl",
      "{\"step\":1,\"val_loss\":3,\"val_loss_wiki\":4}\n{\"step\":2,\"val_loss\":NaN,\"val_loss_wiki\":Infinity}\n");
  std::vector<std::string> warnings;
  const auto texts = compare_sets(read_run_sets(folder.path().string(), warnings));
  EXPECT_EQ(warnings, (std::vector<std::string>{"crope_all_1: the last val_loss is not finite",
                                                "crope_all_1: the last val_loss_wiki is not finite"}));
  ASSERT_EQ(texts.size(), 2u);
  for (const ComparedText& text : texts) {
    EXPECT_EQ(text.rows[1].loss.size, 2u);
    EXPECT_EQ(text.rows[1].difference->size, 2u);
    EXPECT_TRUE(std::isfinite(text.rows[1].loss.mean));
    EXPECT_GT(*text.rows[1].p, 0);
  }
}

TEST(Comparison, WarnsOnlyAboutTheVariantsAskedFor) {
  const test::TemporaryFolder folder;
  for (const char* variant : {"rope", "crope_all"}) {
    for (int seed = 0; seed < 3; ++seed) test::write_run(folder.path(), variant, seed, 3.4 + 0.01 * seed);
    write_file(folder / fmt::format("{}_1/metrics.jsonl", variant), "{\"step\":1,\"val_loss\":3}\n");
  }
  std::vector<std::string> warnings;
  const auto sets = read_run_sets((folder / "rope").string(), warnings);
  EXPECT_EQ(sets[0].runs.size(), 2u);
  EXPECT_EQ(warnings, (std::vector<std::string>{"skipped rope_1: it stopped at step 1, others at 2"}));
  read_run_sets((folder / "rope").string(), warnings);
  EXPECT_EQ(warnings.size(), 1u) << "each warning once";
}

TEST(Comparison, SetsOfDifferentLengthsAreReported) {
  const StudyRun rope{.name = "rope_0", .last_step = 620}, longer{.name = "rope_0", .last_step = 1240};
  EXPECT_EQ(different_steps({{"rope", {rope}}, {"b", {rope}}}), "");
  EXPECT_EQ(different_steps({{"rope", {rope}}, {"wide", {longer}}}),
            "the sets end at different steps: rope at 620, wide at 1,240");
}

TEST(Comparison, ARunIsASetOfItsOwn) {
  const test::TemporaryFolder folder;
  const auto rope = test::write_run(folder.path(), "rope", 0, 3.4);
  const auto tied = test::write_run(folder.path(), "crope_all", 0, 3.5);
  const auto sets = sets_of({rope.string(), "tied=" + tied.string() + "/"});
  ASSERT_EQ(sets.size(), 2u);
  EXPECT_EQ(sets[0].label, rope.string());
  EXPECT_EQ(sets[1].label, "tied");
  EXPECT_EQ(sets[1].runs.front().variant, "crope_all");
  EXPECT_NEAR(compare_sets(sets)[0].rows[1].difference->mean, 0.1, 1e-12);
  const report::Table overview = overview_of_sets(sets);
  ASSERT_EQ(overview.rows.size(), 2u);
  EXPECT_EQ(overview.rows[1][0], "tied");
  EXPECT_NE(overview.rows[0][1], overview.rows[1][1]);  // parameters
}

TEST(Comparison, AFolderOfRunsWithoutSeedsIsOneSetForEach) {
  const test::TemporaryFolder folder;
  std::filesystem::rename(test::write_run(folder.path(), "rope", 7, 3.4), folder / "plain");
  std::filesystem::rename(test::write_run(folder.path(), "crope_all", 7, 3.5), folder / "tied");
  const auto sets = sets_of({folder.path().string()});
  ASSERT_EQ(sets.size(), 2u);
  EXPECT_EQ(sets[0].label, (folder / "plain").string());
  EXPECT_EQ(sets[0].runs.front().seed, 7);
  EXPECT_THROW(sets_of({"both=" + folder.path().string()}), UsageError);
}

TEST(Comparison, APathMayHaveAnEqualsSign) {
  const test::TemporaryFolder folder;
  test::write_run(folder / "lr=0.1", "rope", 0, 3.4);
  EXPECT_EQ(sets_of({(folder / "lr=0.1").string()})[0].label, "rope");
  EXPECT_EQ(sets_of({(folder / "lr=0.1/rope").string()})[0].label, "rope");
  EXPECT_EQ(sets_of({"a=" + (folder / "lr=0.1/rope").string()})[0].label, "a");
}

TEST(Comparison, MistakesAreExplained) {
  const test::TemporaryFolder folder;
  test::write_run(folder.path(), "rope", 0, 3.4);
  const auto error_of = [&](const std::string& name) -> std::string {
    try {
      sets_of({(folder / name).string()});
    } catch (const Error& error) {
      return std::string(error.what()) + " | " + error.hint();
    }
    return "";
  };
  EXPECT_NE(error_of("ropx").find("unknown variant 'ropx' | did you mean 'rope'"), std::string::npos)
      << error_of("ropx");
  EXPECT_NE(error_of("absent/study").find("no such folder"), std::string::npos) << error_of("absent/study");
  EXPECT_NE(error_of("crope_all").find("no finished runs crope_all_<seed>"), std::string::npos);
}

TEST(Comparison, TextsOfOneNameMustBeTheSame) {
  const test::TemporaryFolder folder;
  const auto write = [&](const char* study, const char* fingerprint) {
    const auto run = test::write_run(folder / study, "rope", 0, 3.4);
    Json record = read_json(run / "run.json");
    record["validate_also"] = {{"wiki", {{"fingerprint", fingerprint}}}};
    write_json(run / "run.json", record);
    return (folder / study / "rope").string();
  };
  const std::string a = "a=" + write("a", "1234"), b = "b=" + write("b", "1234"), c = "c=" + write("c", "5678");
  EXPECT_NO_THROW(compare_sets(sets_of({a, b})));
  try {
    compare_sets(sets_of({a, c}));
    FAIL() << "accepted";
  } catch (const Error& error) {
    EXPECT_STREQ(error.what(), "a and c were validated on different texts called 'wiki' (fingerprints 1234 and 5678)");
  }
}

TEST(Comparison, OneSeedHasNoInterval) {
  const test::TemporaryFolder folder;
  test::write_run(folder.path(), "rope", 0, 3.4);
  test::write_run(folder.path(), "crope_all", 0, 3.5);
  const auto row = compare_sets(sets_of({folder.path().string()}))[0].rows[1];
  EXPECT_NEAR(row.difference->mean, 0.1, 1e-12);
  EXPECT_FALSE(row.difference_interval || row.p || row.loss_interval);
}

TEST(Comparison, RefusesWhatCannotBeCompared) {
  const test::TemporaryFolder folder;
  test::write_run(folder / "a", "rope", 0, 3.4);
  test::write_run(folder / "a", "crope_all", 0, 3.4);
  const std::filesystem::path other = test::write_run(folder / "b", "rope", 0, 3.4);
  Json record = read_json(other / "run.json");
  record["data"]["fingerprint"] = "other";
  write_json(other / "run.json", record);
  EXPECT_THROW(sets_of({(folder / "absent").string()}), Error);
  EXPECT_THROW(sets_of({(folder / "a/half_rope_qk").string()}), Error);
  EXPECT_THROW(sets_of({"label=" + (folder / "a").string()}), UsageError);
  EXPECT_THROW(compare_sets(sets_of({(folder / "a/rope").string(), (folder / "b/rope").string()})), Error);
}

}  // namespace
}  // namespace crope::study
