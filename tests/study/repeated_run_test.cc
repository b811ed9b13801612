#include "crope/study/repeated_run.h"

#include <gtest/gtest.h>

#include "crope/base/file.h"
#include "crope/study/corpus.h"
#include "crope/train/trainer.h"
#include "tests/temporary_folder.h"

namespace crope::study {
namespace {

std::string difference(const test::TemporaryFolder& folder, const std::string& then, const std::string& now) {
  write_file(folder / "then", then);
  write_file(folder / "now", now);
  std::int64_t lines = 0;
  return first_difference(folder / "then", folder / "now", &lines);
}

TEST(RepeatedRun, TimesDoNotCountAndTheFirstDifferenceIsNamed) {
  const test::TemporaryFolder folder;
  const std::string one = R"({"step":1,"loss":2.5,"elapsed_s":1.0,"tokens_per_second":7})",
                    two = R"({"step":2,"loss":2.25})";
  EXPECT_EQ(difference(folder, one + "\n" + two + "\n",
                       R"({"step":1,"loss":2.5,"elapsed_s":9.0})"
                       "\n" +
                           two + "\n"),
            "");
  EXPECT_EQ(difference(folder, one + "\n" + two, one + "\n" + R"({"step":2,"loss":2.26})"),
            "step 2: loss 2.25 then, 2.26 now");
  EXPECT_EQ(difference(folder, one + "\n" + two, one + "\n"), "the run has fewer lines than the recorded one");
  EXPECT_EQ(difference(folder, one, one + "\n" + two), "the run has more lines than the recorded one");
}

TEST(RepeatedRun, ComesOutTheSame) {
  const test::TemporaryFolder folder;
  Log log(nullptr);
  std::string text;
  for (int i = 0; i < 4000; ++i) text += "word number " + std::to_string(i % 89) + " and then ";
  write_file(folder / "text.txt", text);
  const Corpus corpus = make_corpus(
      folder / "study",
      {.data = folder / "text.txt", .validate_also = {{"same", folder / "text.txt"}}, .vocab_size = 300}, log);
  const train::JobRequest request{.given = {{"variant", "crope_qk"},
                                            {"qk_gain", "pair"},
                                            {"num_layers", 1},
                                            {"num_heads", 2},
                                            {"d_model", 16},
                                            {"d_ff", 16},
                                            {"steps", 6},
                                            {"batch_size", 2},
                                            {"seq_len", 32},
                                            {"warmup_steps", 1},
                                            {"validate_every", 3},
                                            {"validation_rows", 0},
                                            {"sample_tokens", 0},
                                            {"seed", 3},
                                            {"threads", 1}},
                                  .run = folder / "study/crope_qk_3",
                                  .data = corpus.data,
                                  .init_from = {},
                                  .validate_also = corpus.validate_also,
                                  .program = {{"build", "abc"}}};
  ASSERT_TRUE(train::train(train::resolve_job(request), log).finished);
  // The study may have been moved since.
  std::filesystem::rename(folder / "study", folder / "moved");
  const auto repeated =
      repeat_run(folder / "moved/crope_qk_3", folder / "moved/repeated/crope_qk_3", {{"build", "def"}}, log);
  ASSERT_TRUE(repeated);
  EXPECT_EQ(repeated->difference, "");
  EXPECT_EQ(repeated->lines, 8);  // six steps, two validations
  EXPECT_EQ(read_json(repeated->run / "run.json")["build"], "def");
  EXPECT_EQ(read_json(repeated->run / "run.json")["validate_also"].size(), 1u);

  // A repetition that is there already is made again, not compared again.
  write_file(repeated->run / "metrics.jsonl", "");
  EXPECT_EQ(repeat_run(folder / "moved/crope_qk_3", repeated->run, {{"build", "def"}}, log)->lines, 8);
}

}  // namespace
}  // namespace crope::study
