// crope examples, analyze and report as a user runs them.
#include <gtest/gtest.h>

#include <iterator>
#include <sstream>
#include <string>
#include <vector>

#include "crope/base/json.h"
#include "tests/report/synthetic_run.h"
#include "tests/run_program.h"

namespace crope {
namespace {

using test::run_program;

std::string golden_model(const std::string& variant) {
  return std::string(CROPE_SOURCE_DIR) + "/tests/data/goldens/" + variant;
}

TEST(ExamplesCommand, RotaryHeadsFindEveryTargetAndAbsoluteOnesDoNot) {
  const auto result = run_program("examples --json --skip-training --max-width 256");
  ASSERT_EQ(result.status, 0) << result.err;
  const Json json = parse_json(result.out, "examples");
  int checked = 0;
  for (const Json& sample : json["samples"]) {
    if (sample["task"] != "token_dependent_position" || sample["mask"] != "bidirectional") continue;
    EXPECT_EQ(sample["D"], 1024);
    EXPECT_EQ(sample["T"], 64);
    if (sample["kind"] == "absolute") {
      EXPECT_LT(sample["rows_right"].get<int>(), sample["rows"].get<int>() / 2);
    } else {
      EXPECT_EQ(sample["rows_right"], sample["rows"]) << sample["kind"];
    }
    ++checked;
  }
  EXPECT_EQ(checked, 4);
  double before = 0;
  for (const Json& sample : json["by_width"]) {
    if (sample["task"] != "token_dependent_position" || sample["kind"] != "crope") continue;
    EXPECT_GT(sample["target_weight"].get<double>(), before) << sample["D"];
    before = sample["target_weight"];
  }
  EXPECT_GT(before, 0.3);
}

TEST(ExamplesCommand, BadFlagsAreUsageErrors) {
  EXPECT_EQ(run_program("examples --width 20 --skip-training").status, 2);
  EXPECT_EQ(run_program("examples --length 0 --skip-training").status, 2);
  EXPECT_EQ(run_program("examples --seeds 0").status, 2);
}

TEST(ExamplesCommand, AFolderThatCannotBeMadeIsToldBeforeTheWork) {
  const test::TemporaryFolder folder;
  write_json(folder / "file", Json::object());
  const auto result = run_program("examples --skip-training --max-width 16 --out " + (folder / "file/out").string());
  EXPECT_EQ(result.status, 1);
  EXPECT_NE(result.err.find("cannot create the folder"), std::string::npos) << result.err;
  // The first thing said: nothing was computed before it.
  EXPECT_EQ(result.err.find("error"), 0u) << result.err;
}

TEST(AnalyzeCommand, TiedProjectionsHaveNoReflections) {
  const auto result = run_program("analyze " + golden_model("crope_all") + " --json");
  ASSERT_EQ(result.status, 0) << result.err;
  const Json document = parse_json(result.out, "analyze");
  for (const Json& each : document["models"][0]["projections"]) {
    EXPECT_LT(each["conjugate_linear_share"].get<double>(), 1e-14);
    EXPECT_GT(each["squared_norm"].get<double>(), 0);
  }
  EXPECT_EQ(run_program("analyze /nowhere").status, 1);
  const auto table = run_program("analyze --layers " + golden_model("rope"));
  EXPECT_EQ(table.status, 0) << table.err;
  EXPECT_NE(table.out.find("with gains"), std::string::npos);
}

// The last four words of a row: the raw share, the share with gains, and "0.500 ± x" of a random matrix.
TEST(AnalyzeCommand, SharedStructure) {
  const auto result = run_program("analyze " + golden_model("rope") + " --structure --json");
  ASSERT_EQ(result.status, 0) << result.err;
  const Json structures = parse_json(result.out, "analyze")["models"][0]["structures"];
  EXPECT_EQ(structures[0]["projections"], "q");
  EXPECT_GT(structures[0]["best_share"].get<double>(), structures[0]["given_share"].get<double>());
  const auto table = run_program("analyze " + golden_model("crope_qk") + " --structure --layers");
  EXPECT_NE(table.out.find("coin flips"), std::string::npos) << table.out;
  EXPECT_NE(table.out.find("Q and K"), std::string::npos);
  const auto text = run_program("analyze " + golden_model("rope") + " --text " CROPE_SOURCE_DIR "/README.md");
  EXPECT_EQ(text.status, 2);
  EXPECT_NE(text.err.find("has no tokenizer.json"), std::string::npos) << text.err;
  EXPECT_EQ(run_program("analyze " + golden_model("rope") + " --structure --tokens 0").status, 2);
}

TEST(AnalyzeCommand, TheTableShowsTheShareWithGains) {
  const auto shares = [](const std::string& model, const std::string& projection) -> std::pair<double, double> {
    const auto table = run_program("analyze " + golden_model(model));
    EXPECT_EQ(table.status, 0) << table.err;
    std::istringstream lines(table.out);
    for (std::string line; std::getline(lines, line);) {
      std::istringstream words_of_line(line);
      const std::vector<std::string> words{std::istream_iterator<std::string>(words_of_line), {}};
      if (words.size() != 13 || words[1] != projection) continue;
      return {std::stod(words[8]), std::stod(words[9])};
    }
    ADD_FAILURE() << "no row of " << projection << ":\n" << table.out;
    return {};
  };
  const auto [raw, effective] = shares("crope_all", "q");
  EXPECT_EQ(raw, 0);
  EXPECT_GT(effective, 1e-3);
  EXPECT_EQ(shares("crope_all", "o"), (std::pair{0.0, 0.0}));
  EXPECT_EQ(shares("more/crope_all_qk_gain_pair", "q"), (std::pair{0.0, 0.0}));
}

TEST(ReportCommand, GoesIntoTheFirstRunUnlessToldOtherwise) {
  const test::TemporaryFolder folder;
  const auto run = test::make_run(folder / "rope", {.steps = 60});
  const auto result = run_program("report " + run.string() + " --json");
  ASSERT_EQ(result.status, 0) << result.err;
  EXPECT_EQ(parse_json(result.out, "report")["page"], (run / "report/index.html").string());
  EXPECT_TRUE(std::filesystem::exists(run / "report/train_loss.svg"));
  EXPECT_FALSE(std::filesystem::exists(run / "report/heads_token_dependent_position_crope.svg"));
  EXPECT_EQ(run_program("report " + (folder / "absent").string()).status, 1);
  EXPECT_EQ(run_program("report").status, 2);
}

TEST(ReportCommand, DrawsAStudyWithoutAPage) {
  const test::TemporaryFolder folder;
  const auto study = test::make_study(folder / "study", {"rope", "crope_all"}, 2, 60);
  const std::string out = (folder / "figures").string();
  const auto result = run_program("report " + study.string() + " --figures-only --skip-examples --json --out " + out);
  ASSERT_EQ(result.status, 0) << result.err;
  const Json json = parse_json(result.out, "report");
  EXPECT_TRUE(json["page"].is_null());
  EXPECT_EQ(json["folder"], out);
  EXPECT_TRUE(std::filesystem::exists(folder / "figures/val_loss_difference.png"));
  EXPECT_FALSE(std::filesystem::exists(folder / "figures/index.html"));
  const auto empty = run_program("report " + out);
  EXPECT_EQ(empty.status, 1);
  EXPECT_NE(empty.err.find("is not a run directory and holds none"), std::string::npos) << empty.err;
}

TEST(ReportCommand, WithoutGnuplotTheErrorSaysSo) {
  const test::TemporaryFolder folder;
  const auto run = test::make_run(folder / "rope", {.steps = 5});
  const std::string path = ::getenv("PATH");
  ::setenv("PATH", folder.path().c_str(), 1);
  const auto without = run_program("report " + run.string() + " --skip-examples");
  ::setenv("PATH", path.c_str(), 1);
  EXPECT_EQ(without.status, 1);
  EXPECT_NE(without.err.find("gnuplot was not found"), std::string::npos) << without.err;
  EXPECT_NE(without.err.find("hint:"), std::string::npos);
}

}  // namespace
}  // namespace crope
