#include "crope/study/quickstart.h"

#include <gtest/gtest.h>

#include "crope/base/file.h"
#include "tests/temporary_folder.h"

namespace crope::study {
namespace {

QuickstartOptions tiny_quickstart(const std::filesystem::path& out) {
  return {.out = out,
          .recipe = {{"num_layers", 1},
                     {"num_heads", 2},
                     {"d_model", 16},
                     {"d_ff", 16},
                     {"seq_len", 32},
                     {"max_seq_len", 256},
                     {"batch_size", 2},
                     {"steps", 3},
                     {"warmup_steps", 1},
                     {"threads", 1}},
          .variants = {"rope", "crope_all"},
          .world = {.documents = 300,
                    .vocab_size = 320,
                    .benchmarks = {.hellaswag_items = 8, .mmlu_items = 8, .gsm8k_items = 2}},
          .program = {{"version", "test"}}};
}

TEST(Quickstart, LeavesRunsScoresSamplesAndAReport) {
  const test::TemporaryFolder folder;
  Log silent(nullptr);
  const auto result = quickstart(tiny_quickstart(folder / "out"), silent);
  ASSERT_TRUE(result);
  ASSERT_EQ(result->outcomes.size(), 2u);
  EXPECT_EQ(result->outcomes[1].variant, "crope_all");
  EXPECT_EQ(2 * result->outcomes[1].attention_parameters, result->outcomes[0].attention_parameters);
  EXPECT_EQ(result->outcomes[0].scores.size(), 3u);
  ASSERT_EQ(result->samples.size(), 2u);
  EXPECT_FALSE(result->samples[0].text.empty());
  EXPECT_EQ(result->page, folder / "out/report/index.html");
  EXPECT_NE(read_file(result->page).find("crope_all"), std::string::npos);
  EXPECT_TRUE(std::filesystem::exists(folder / "out/rope/results.json"));

  // Started again, nothing is trained or scored a second time.
  const std::string metrics = read_file(folder / "out/rope/metrics.jsonl");
  const auto written = std::filesystem::last_write_time(folder / "out/rope/results.json");
  const auto again = quickstart(tiny_quickstart(folder / "out"), silent);
  ASSERT_TRUE(again);
  EXPECT_EQ(again->outcomes[0].val_loss, result->outcomes[0].val_loss);
  EXPECT_EQ(again->samples[0].text, result->samples[0].text);
  EXPECT_EQ(read_file(folder / "out/rope/metrics.jsonl"), metrics);
  EXPECT_EQ(std::filesystem::last_write_time(folder / "out/rope/results.json"), written);
}

}  // namespace
}  // namespace crope::study
