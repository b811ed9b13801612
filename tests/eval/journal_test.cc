#include "crope/eval/journal.h"

#include <gtest/gtest.h>

#include "crope/base/file.h"
#include "tests/temporary_folder.h"

namespace crope::eval {
namespace {

const Response kScores{.log_likelihoods = {-1.25, -0.1}, .is_greedy = {true, false}, .text = ""};
const Response kText{.log_likelihoods = {}, .is_greedy = {}, .text = " 3 é\n"};

TEST(Journal, GivesBackWhatWasWritten) {
  const test::TemporaryFolder folder;
  {
    Journal journal(folder / "journal");
    EXPECT_FALSE(journal.find("a"));
    journal.add("a", kScores);
    journal.add("b", kText);
  }
  const Journal journal(folder / "journal");
  ASSERT_TRUE(journal.find("a"));
  EXPECT_EQ(journal.find("a")->log_likelihoods, kScores.log_likelihoods);
  EXPECT_EQ(journal.find("a")->is_greedy, kScores.is_greedy);
  EXPECT_EQ(journal.find("b")->text, kText.text);
  EXPECT_FALSE(journal.find("c"));
}

// A kill, or a full disk, cuts the file at any byte: what is whole counts, and what comes after is not lost.
TEST(Journal, CutAnywhere) {
  const test::TemporaryFolder folder;
  {
    Journal journal(folder / "whole");
    journal.add("a", kScores);
    journal.add("b", kText);
  }
  const std::string whole = read_file(folder / "whole");
  const std::size_t first = whole.find('\n');
  for (std::size_t length = 0; length <= whole.size(); ++length) {
    write_file(folder / "cut", whole.substr(0, length));
    {
      Journal journal(folder / "cut");
      EXPECT_EQ(journal.find("a").has_value(), length >= first) << length;
      EXPECT_EQ(journal.find("b").has_value(), length >= whole.size() - 1) << length;
      journal.add("c", kText);
    }
    EXPECT_TRUE(Journal(folder / "cut").find("c")) << length;
  }
}

TEST(Journal, AModelHasAnotherFingerprintWhenAByteDiffers) {
  const test::TemporaryFolder folder;
  std::string weights(1000, 'w');
  write_file(folder / "config.json", "{}");
  write_file(folder / "model.safetensors", weights);
  const std::string before = model_fingerprint(folder.path());
  EXPECT_EQ(model_fingerprint(folder.path()), before);
  for (const std::size_t at : {0u, 63u, 500u, 999u}) {
    std::string other = weights;
    other[at] ^= 1;
    write_file(folder / "model.safetensors", other);
    EXPECT_NE(model_fingerprint(folder.path()), before) << at;
  }
  write_file(folder / "model.safetensors", weights.substr(1));
  EXPECT_NE(model_fingerprint(folder.path()), before);
}

TEST(Journal, ALineWithFewerFlagsThanScoresIsDamaged) {
  const test::TemporaryFolder folder;
  write_file(folder / "j", R"({"key":"a","log_likelihoods":[-1.0,-2.0],"is_greedy":[true],"text":""})"
                           "\n"
                           R"({"key":"b","log_likelihoods":[-1.0],"is_greedy":[],"text":""})"
                           "\n"
                           R"({"key":"c","log_likelihoods":[-1.0],"is_greedy":[false],"text":""})"
                           "\n");
  const Journal journal(folder / "j");
  EXPECT_FALSE(journal.find("a"));
  EXPECT_FALSE(journal.find("b"));
  EXPECT_TRUE(journal.find("c"));
}

}  // namespace
}  // namespace crope::eval
