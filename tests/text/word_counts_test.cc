#include "crope/text/word_counts.h"

#include <gtest/gtest.h>

#include <map>

#include "crope/base/error.h"
#include "crope/text/pretokenizer.h"
#include "tests/text/fixtures.h"

namespace crope::text {
namespace {

std::map<std::string, std::int64_t> as_map(const WordCounts& words) {
  std::map<std::string, std::int64_t> result;
  for (std::size_t i = 0; i < words.words().size(); ++i) result[words.words()[i]] = words.counts()[i];
  EXPECT_EQ(result.size(), words.words().size());
  return result;
}

DocumentSource source_of(std::vector<std::string> documents) {
  return [documents = std::move(documents), next = std::size_t{0}](std::string& document) mutable {
    if (next == documents.size()) return false;
    document = documents[next++];
    return true;
  };
}

TEST(WordCounts, CountsAsThePretokenizerSplits) {
  std::mt19937 random(5);
  std::vector<std::string> documents;
  std::map<std::string, std::int64_t> expected;
  for (int i = 0; i < 200; ++i) {
    documents.push_back(random_text(random, 100));
    if (i % 10 == 0) documents.back() += std::string(300 + i, 'x');
    for (const std::string_view word : split_words(documents.back())) ++expected[std::string(word)];
  }
  for (const int threads : {1, 2, 5}) EXPECT_EQ(as_map(count_words(source_of(documents), {}, threads)), expected);
}

TEST(WordCounts, SpecialTokensEndWordsAndAreNotCounted) {
  const std::vector<std::string> documents = {"ab<|x|>cd<|x|><|x|y|>", "<|x|y|>ab"};
  const std::vector<std::string> special = {"<|x|>", "<|x|y|>"};
  EXPECT_EQ(as_map(count_words(source_of(documents), special, 1)),
            (std::map<std::string, std::int64_t>{{"ab", 2}, {"cd", 1}}));
  // Many of one and none of the other must not take quadratic time.
  std::string many;
  for (int i = 0; i < 200000; ++i) many += "a<|x|>";
  EXPECT_EQ(as_map(count_words(source_of({many}), special, 1)), (std::map<std::string, std::int64_t>{{"a", 200000}}));
  const std::vector<std::string> empty = {""};
  EXPECT_THROW(count_words(source_of(documents), empty, 1), UsageError);
}

TEST(WordCounts, PassesTheErrorOfTheSourceOn) {
  const DocumentSource broken = [n = 0](std::string& document) mutable {
    if (++n >= 5) throw Error("line 5 is broken");
    document = "text";
    return true;
  };
  for (const int threads : {1, 3}) EXPECT_THROW(count_words(broken, {}, threads), Error);
}

}  // namespace
}  // namespace crope::text
