#include "crope/data/tokenizer_training.h"

#include <gtest/gtest.h>

#include "crope/base/error.h"
#include "crope/base/file.h"
#include "crope/text/tokenizer.h"
#include "tests/temporary_folder.h"

namespace crope::data {
namespace {

namespace fs = std::filesystem;

TEST(TokenizerTraining, WritesATokenizerThatLoads) {
  const test::TemporaryFolder folder;
  write_file(folder / "words.txt", "the cat and the hat and the bat\n");
  Log log(nullptr);
  const TrainedTokenizer trained =
      train_tokenizer({.sources = {(folder / "words.txt").string()}, .vocab_size = 260}, folder / "tokenizer", log);
  EXPECT_EQ(trained.vocabulary.tokens.size(), 260u);
  EXPECT_EQ(trained.counts.documents, 1u);
  EXPECT_EQ(text::Tokenizer::load(folder / "tokenizer").fingerprint(), trained.vocabulary.fingerprint());
}

TEST(TokenizerTraining, NoTextIsAnErrorAndLeavesNothing) {
  const test::TemporaryFolder folder;
  write_file(folder / "empty.txt", "");
  write_file(folder / "nulls.jsonl", "{\"text\": null}\n");
  Log log(nullptr);
  for (const char* name : {"empty.txt", "nulls.jsonl"}) {
    const std::string source = (folder / name).string();
    try {
      train_tokenizer({.sources = {source}, .vocab_size = 260}, folder / "tokenizer", log);
      FAIL() << name;
    } catch (const Error& e) {
      EXPECT_NE(std::string(e.what()).find(source), std::string::npos) << e.what();
    }
  }
  EXPECT_EQ(std::distance(fs::directory_iterator(folder.path()), {}), 2);
}

}  // namespace
}  // namespace crope::data
