#include "crope/study/corpus.h"

#include <gtest/gtest.h>

#include "crope/base/error.h"
#include "crope/base/file.h"
#include "crope/data/data_dir.h"
#include "tests/temporary_folder.h"

namespace crope::study {
namespace {

std::string some_text(const std::string& word) {
  std::string text;
  for (int i = 0; i < 3000; ++i) text += word + " number " + std::to_string(i % 97) + " and then ";
  return text;
}

TEST(Corpus, IsMadeFromTextWithATokenizerOfItsOwn) {
  const test::TemporaryFolder folder;
  Log log(nullptr);
  write_file(folder / "book.txt", some_text("apple"));
  write_file(folder / "other.txt", some_text("pear"));
  const CorpusOptions options{.data = folder / "book.txt",
                              .benchmarks = {},
                              .validate_also = {{"other", folder / "other.txt"}},
                              .vocab_size = 300};
  const Corpus corpus = make_corpus(folder / "study", options, log);
  const data::DataDir data = data::open_data_dir(corpus.data);
  EXPECT_EQ(data.info->vocab_size, 300);
  EXPECT_EQ(data.info->val.documents, 1u);  // the end of the text is held out
  EXPECT_TRUE(corpus.benchmarks.empty());
  ASSERT_EQ(corpus.validate_also.size(), 1u);
  const data::DataDir other = data::open_data_dir(corpus.validate_also[0].data);
  EXPECT_EQ(other.info->tokenizer_fingerprint, data.info->tokenizer_fingerprint);
  EXPECT_EQ(other.info->val.documents, 0u);

  // A second call makes nothing new; other text in the same folder is refused.
  const std::string before = data::content_fingerprint(data);
  EXPECT_EQ(data::content_fingerprint(data::open_data_dir(make_corpus(folder / "study", options, log).data)), before);
  CorpusOptions changed = options;
  changed.data = folder / "other.txt";
  EXPECT_THROW(make_corpus(folder / "study", changed, log), Error);
}

TEST(Corpus, ADataDirectoryIsTakenAsItIs) {
  const test::TemporaryFolder folder;
  Log log(nullptr);
  write_file(folder / "book.txt", some_text("apple"));
  const Corpus made = make_corpus(folder / "one", {.data = folder / "book.txt", .vocab_size = 300}, log);
  EXPECT_TRUE(data::holds_shards(made.data));
  EXPECT_FALSE(data::holds_shards(folder / "one"));
  EXPECT_FALSE(data::holds_shards(folder / "absent"));
  const Corpus taken = make_corpus(folder / "two", {.data = made.data}, log);
  EXPECT_EQ(taken.data, made.data);
  EXPECT_FALSE(std::filesystem::exists(folder / "two"));
}

}  // namespace
}  // namespace crope::study
