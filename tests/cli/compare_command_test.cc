// crope compare as a user runs it.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include "crope/base/json.h"
#include "tests/report/synthetic_run.h"
#include "tests/run_program.h"

namespace crope {
namespace {

using test::run_program;

class CompareCommand : public testing::Test {
 protected:
  void SetUp() override {
    for (int seed = 0; seed < 3; ++seed) {
      const double noise = 0.001 * seed;
      test::make_run(folder_ / fmt::format("rope_{}", seed),
                     {.variant = "rope", .steps = 100, .final_loss = 3.0 + noise});
      test::make_run(folder_ / fmt::format("crope_all_{}", seed),
                     {.variant = "crope_all", .steps = 100, .final_loss = 3.1 - noise});
    }
  }

  test::TemporaryFolder folder_;
};

TEST_F(CompareCommand, PrintsATableMarkdownAndJson) {
  const std::string study = folder_.path().string();
  const auto table = run_program("compare " + study);
  ASSERT_EQ(table.status, 0) << table.err;
  EXPECT_NE(table.out.find("minus rope"), std::string::npos) << table.out;
  EXPECT_NE(table.out.find("+0.0980"), std::string::npos) << table.out;

  const auto markdown = run_program("compare " + study + "/rope tied=" + study + "/crope_all --markdown");
  ASSERT_EQ(markdown.status, 0) << markdown.err;
  EXPECT_EQ(markdown.out.find("| runs | parameters | n | loss | 95% interval | minus rope | 95% interval | p |\n|---|"),
            0u)
      << markdown.out;
  EXPECT_NE(markdown.out.find("| tied |"), std::string::npos) << markdown.out;

  const auto json = run_program("compare " + study + " --json --text validation");
  ASSERT_EQ(json.status, 0) << json.err;
  const Json rows = parse_json(json.out, "compare");
  ASSERT_EQ(rows.size(), 2u);
  EXPECT_EQ(rows[1]["runs"], "crope_all");
  EXPECT_EQ(rows[1]["pairs"], 3);
  EXPECT_NEAR(rows[1]["difference"].get<double>(), 0.098, 1e-9);
}

TEST_F(CompareCommand, BadArgumentsAreErrorsWithAHint) {
  const std::string study = folder_.path().string();
  for (const std::string& arguments : {study + "/half_rope_qk", study + "/nowhere", study + " --text wiki"}) {
    const auto result = run_program("compare " + arguments);
    EXPECT_NE(result.status, 0) << arguments;
    EXPECT_NE(result.err.find("hint:"), std::string::npos) << arguments << ": " << result.err;
  }
}

TEST_F(CompareCommand, NamesWhatWasMeant) {
  const std::string study = folder_.path().string();
  const auto slip = run_program("compare " + study + "/ropx");
  EXPECT_EQ(slip.status, 2);
  EXPECT_NE(slip.err.find("did you mean 'rope'"), std::string::npos) << slip.err;
}

TEST_F(CompareCommand, PutsSingleRunsSideBySide) {
  const std::string study = folder_.path().string();
  const auto result = run_program("compare dense=" + study + "/rope_0 " + study + "/crope_all_1");
  ASSERT_EQ(result.status, 0) << result.err;
  EXPECT_NE(result.out.find("minus dense"), std::string::npos) << result.out;
  for (const char* column : {"training loss", "validation loss", "hellaswag", "tokens/s"}) {
    EXPECT_NE(result.out.find(column), std::string::npos) << column << "\n" << result.out;
  }
  EXPECT_NE(result.out.find("mean of the last 200 steps"), std::string::npos) << result.out;
  EXPECT_EQ(run_program("compare x=" + study).status, 2);
}

}  // namespace
}  // namespace crope
