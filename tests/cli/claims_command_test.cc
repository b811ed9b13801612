// crope claims as a user runs it.
#include <gtest/gtest.h>

#include "crope/base/file.h"
#include "crope/base/json.h"
#include "tests/report/synthetic_run.h"
#include "tests/run_program.h"
#include "tests/temporary_folder.h"

namespace crope {
namespace {

using test::run_program;

class ClaimsCommand : public testing::Test {
 protected:
  void SetUp() override {
    for (int seed = 0; seed < 3; ++seed) {
      const double noise = 0.001 * seed;
      test::make_run(folder_ / fmt::format("rope_{}", seed), {.variant = "rope", .final_loss = 3.0 + noise});
      test::make_run(folder_ / fmt::format("crope_all_{}", seed), {.variant = "crope_all", .final_loss = 3.1 - noise});
    }
  }

  test::TemporaryFolder folder_;
};

TEST_F(ClaimsCommand, PrintsATableAndItsJson) {
  const auto table = run_program("claims " + folder_.path().string());
  ASSERT_EQ(table.status, 0) << table.err;
  EXPECT_NE(table.out.find("validation loss: rope below crope_all"), std::string::npos) << table.out;
  EXPECT_NE(table.out.find("holds"), std::string::npos);
  EXPECT_NE(table.out.find("paper: undecided: one seed"), std::string::npos);

  const auto json = run_program("claims " + folder_.path().string() + " --json");
  ASSERT_EQ(json.status, 0) << json.err;
  int orders = 0;
  for (const Json& row : parse_json(json.out, "claims")) {
    if (row["claim"].get<std::string>().find("below") == std::string::npos) continue;
    ++orders;
    const bool is_measured = row["claim"] == "validation loss: rope below crope_all";
    EXPECT_EQ(row["verdict"], is_measured ? "holds" : "not measured") << row.dump();
    EXPECT_EQ(row["n"], is_measured ? 3 : 0);
  }
  EXPECT_EQ(orders, 8);
}

TEST_F(ClaimsCommand, MarginsDecideWhatIsClose) {
  const auto verdict = [&](const std::string& margin) -> std::string {
    const auto result =
        run_program("claims " + folder_.path().string() + " --json --margin accuracy=1% --margin " + margin);
    EXPECT_EQ(result.status, 0) << result.err;
    for (const Json& row : parse_json(result.out, "claims")) {
      if (row["claim"].get<std::string>().starts_with("validation loss: crope_all close to rope"))
        return row["verdict"];
    }
    return "";
  };
  EXPECT_EQ(verdict("loss=10%"), "holds");
  EXPECT_EQ(verdict("loss=0.0025"), "does not hold");
}

TEST_F(ClaimsCommand, MistakesAreExplained) {
  const std::string study = folder_.path().string();
  for (const char* margin : {"0.1", "los=1%", "loss=", "loss=-1%", "loss=x", "loss=100%", "loss=nan", "loss=1%%"}) {
    const auto result = run_program("claims " + study + " --margin " + margin);
    EXPECT_EQ(result.status, 2) << margin;
    EXPECT_NE(result.err.find("hint: "), std::string::npos) << result.err;
  }
  const auto none = run_program("claims " + (folder_ / "rope_0").string());
  EXPECT_EQ(none.status, 1);
  EXPECT_NE(none.err.find("<variant>_<seed>"), std::string::npos) << none.err;
  EXPECT_EQ(run_program("claims").status, 2);
  const auto absent = run_program("claims " + (folder_ / "absent").string());
  EXPECT_EQ(absent.status, 1);
  EXPECT_NE(absent.err.find("no such folder"), std::string::npos) << absent.err;
}

TEST_F(ClaimsCommand, WarningsGoToStandardError) {
  write_file(folder_ / "rope_1/metrics.jsonl", "{\"step\":1,\"val_loss\":3}\n");
  const auto result = run_program("claims " + folder_.path().string() + " --json");
  ASSERT_EQ(result.status, 0);
  EXPECT_NE(result.err.find("warning: skipped rope_1: it stopped at step 1"), std::string::npos) << result.err;
  EXPECT_NO_THROW(parse_json(result.out, "claims"));
}

}  // namespace
}  // namespace crope
