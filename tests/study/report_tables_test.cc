#include "crope/study/report_tables.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "crope/study/run_folders.h"
#include "tests/report/synthetic_run.h"
#include "tests/temporary_folder.h"

namespace crope::study {
namespace {

using report::RunData;
using Row = std::vector<std::string>;

struct TwoVariants {
  test::TemporaryFolder folder;
  std::vector<RunData> runs =
      report::read_runs(expand_runs({test::make_study(folder / "study", {"rope", "crope_all"}, 3)}));
  std::vector<SeedGroup> groups = group_by_seed(runs);
};

TEST(ReportTables, OneRowPerVariantAndOnePerRun) {
  const TwoVariants study;
  const report::Table variants = variant_table(study.groups, {});
  EXPECT_EQ(variants.columns, (Row{"variant", "seeds", "parameters", "steps", "tokens", "training loss",
                                   "validation loss", "hellaswag", "mmlu", "gsm8k", "tokens/s"}));
  ASSERT_EQ(variants.rows.size(), 2u);
  EXPECT_EQ(variants.rows[0][1], "3");
  // Seeds at 3.03, with 0.01 from one to the next: 4.3027 * 0.01 / sqrt(3).
  EXPECT_NE(variants.rows[0][6].find(" ± 0.0248"), std::string::npos) << variants.rows[0][6];
  EXPECT_TRUE(variants.summary.empty());
  const report::Table runs = run_table(study.runs);
  EXPECT_EQ(runs.rows.size(), 6u);
  EXPECT_EQ(runs.rows[4][0], "crope_all_1");
  EXPECT_EQ(runs.summary, "All 6 runs");
}

TEST(ReportTables, SingleRunsHaveNoColumnOfSeeds) {
  const test::TemporaryFolder folder;
  std::vector<RunData> runs = report::read_runs({test::make_run(folder / "rope", {})});
  const report::Table table = variant_table(group_by_seed(runs), {});
  EXPECT_EQ(table.columns[0], "run");
  EXPECT_EQ(table.columns[1], "parameters");
  EXPECT_EQ(table.rows[0][6], "0.328 ± 0.009");
}

TEST(ReportTables, EveryTaskWithAResultHasAColumn) {
  const test::TemporaryFolder folder;
  const auto dir = test::make_run(folder / "rope", {});
  Json results = read_json(dir / "results.json");
  results["results"]["winogrande"] = {{"acc,none", 0.51}};
  results["results"]["perplexity"] = {{"word_perplexity,none", 40.0}};
  write_json(dir / "results.json", results);
  const report::Table table = run_table(report::read_runs({dir}));
  const auto column = std::ranges::find(table.columns, "winogrande");
  ASSERT_NE(column, table.columns.end());
  EXPECT_EQ(table.rows[0][static_cast<std::size_t>(column - table.columns.begin())], "0.510");
  EXPECT_EQ(std::ranges::find(table.columns, "perplexity"), table.columns.end());
}

TEST(ReportTables, TheConfigurationStandsOncePerVariant) {
  const TwoVariants study;
  const report::Section section = configuration_section(study.groups);
  ASSERT_EQ(section.blocks.size(), 4u);  // commands, a sentence, two files
  const auto& commands = std::get<report::Listing>(section.blocks[0]);
  EXPECT_EQ(commands.text, "crope train --data data --out rope_0\ncrope train --data data --out crope_all_0\n");
  EXPECT_EQ(std::get<report::Listing>(section.blocks[2]).summary, "`run.json` of rope, seeds 0, 1, 2");
}

}  // namespace
}  // namespace crope::study
