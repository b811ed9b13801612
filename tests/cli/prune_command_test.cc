#include <gtest/gtest.h>

#include <filesystem>

#include "crope/base/json.h"
#include "tests/cli/trained_model.h"
#include "tests/run_program.h"

namespace crope {
namespace {

using test::run_program;

const std::string kTied = std::string(CROPE_SOURCE_DIR) + "/tests/data/goldens/crope_all";

TEST(PruneCommand, ReportsWhatIsZero) {
  const test::TemporaryFolder folder;
  const std::string out = (folder / "sparse").string();
  const auto made = run_program("prune " + kTied + " " + out + " --sparsity 0.5 --pairs separate --json");
  ASSERT_EQ(made.status, 0) << made.err;
  const Json report = parse_json(made.out, "prune");
  EXPECT_EQ(report["rule"], "magnitude");
  ASSERT_EQ(report["kinds"].size(), 7u);
  for (const Json& kind : report["kinds"]) {
    EXPECT_EQ(kind["zeros"].get<int>() * 2, kind["numbers"].get<int>()) << kind;
    EXPECT_GT(kind["kept_energy"].get<double>(), 0.7) << kind;
  }
  EXPECT_EQ(parse_json(run_program("info --json " + out).out, "info")["config"]["pruned"]["pairs"], "separate");
  EXPECT_EQ(run_program("score " + out + " --ids 1,2,3").status, 0);

  const auto table = run_program("prune " + kTied + " " + (folder / "quarter").string() + " --sparsity 0.25");
  ASSERT_EQ(table.status, 0) << table.err;
  EXPECT_NE(table.out.find("attention.q"), std::string::npos) << table.out;
  EXPECT_NE(table.out.find("0.2500"), std::string::npos) << table.out;
}

TEST(PruneCommand, CalibratesOnAText) {
  const test::TemporaryFolder folder;
  const std::string command = "prune " + test::train_tiny_run(folder.path()) + " " + (folder / "out").string() +
                              " --sparsity 0.5 --structure 2:4 --json --calibrate ";
  const auto made = run_program(command + (folder / "text.txt").string());
  ASSERT_EQ(made.status, 0) << made.err;
  EXPECT_EQ(parse_json(made.out, "prune")["rule"], "wanda");
  EXPECT_EQ(parse_json(made.out, "prune")["structure"], "2:4");
}

TEST(PruneCommand, MistakesAreNamed) {
  const test::TemporaryFolder folder;
  const std::string command = "prune " + kTied + " " + (folder / "out").string();
  const std::vector<std::pair<std::string, std::string>> cases = {
      {"", "--sparsity"},
      {" --sparsity 1", "expected a number from 0 to less than 1"},
      {" --sparsity 0.3 --structure 2:4", "structure 2:4 drops half"},
      {" --sparsity 0.5 --structure 4:8", "expected unstructured or 2:4, found '4:8'"},
      {" --sparsity 0.5 --pairs both", "expected complex or separate, found 'both'"},
  };
  for (const auto& [flags, words] : cases) {
    const auto result = run_program(command + flags);
    EXPECT_EQ(result.status, 2) << flags << result.err;
    EXPECT_NE(result.err.find(words), std::string::npos) << flags << "\n" << result.err;
  }
  const auto absent = run_program(command + " --sparsity 0.5 --calibrate absent.txt");
  EXPECT_EQ(absent.status, 1);
  EXPECT_NE(absent.err.find("absent.txt"), std::string::npos) << absent.err;
  EXPECT_FALSE(std::filesystem::exists(folder / "out"));
}

}  // namespace
}  // namespace crope
