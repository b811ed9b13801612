#include "crope/text/bpe_merger.h"

#include <gtest/gtest.h>

#include "tests/text/fixtures.h"

namespace crope::text {
namespace {

std::vector<std::string> merged(const Vocabulary& vocabulary, std::string_view word) {
  std::vector<std::int32_t> ids;
  BpeMerger(vocabulary).append_word(word, ids);
  std::vector<std::string> tokens;
  for (const std::int32_t id : ids) tokens.push_back(vocabulary.tokens[id]);
  return tokens;
}

// The rule itself, step by step.
std::vector<std::int32_t> merge_slowly(const Vocabulary& vocabulary, std::string_view word) {
  std::vector<std::int32_t> ids;
  for (const char byte : word) {
    ids.push_back(static_cast<std::int32_t>(std::ranges::find(vocabulary.tokens, std::string(1, byte)) -
                                            vocabulary.tokens.begin()));
  }
  for (bool changed = true; changed;) {
    changed = false;
    for (std::size_t rank = 0; rank < vocabulary.merges.size() && !changed; ++rank) {
      for (std::size_t i = 0; i + 1 < ids.size() && !changed; ++i) {
        if (ids[i] != vocabulary.merges[rank].left || ids[i + 1] != vocabulary.merges[rank].right) continue;
        ids[i] = vocabulary.merges[rank].result;
        ids.erase(ids.begin() + static_cast<std::ptrdiff_t>(i) + 1);
        changed = true;
      }
    }
  }
  return ids;
}

TEST(BpeMerger, LowestRankGoesFirstAndLeftmostOfEquals) {
  using Tokens = std::vector<std::string>;
  const Vocabulary vocabulary = small_vocabulary();
  EXPECT_EQ(merged(vocabulary, " the"), Tokens{" the"});
  EXPECT_EQ(merged(vocabulary, "hello"), (Tokens{"hell", "o"}));
  EXPECT_EQ(merged(vocabulary, "aaa"), (Tokens{"aa", "a"}));
  EXPECT_EQ(merged(vocabulary, "aaaaaaa"), (Tokens{"aaaa", "aa", "a"}));
  EXPECT_EQ(merged(vocabulary, "\xFF"), Tokens{"\xFF"});
}

TEST(BpeMerger, ShortAndLongWordsFollowTheSameRule) {
  const Vocabulary vocabulary = make_vocabulary(
      {{"a", "b"}, {"b", "a"}, {"ab", "a"}, {"a", "a"}, {"ba", "ab"}, {"aa", "b"}, {"c", "a"}, {"ca", "ab"}});
  const BpeMerger merger(vocabulary);
  std::mt19937 random(4);
  for (int round = 0; round < 2000; ++round) {
    std::string word(1 + random() % 100, ' ');
    for (char& byte : word) byte = "abc"[random() % 3];
    std::vector<std::int32_t> ids;
    merger.append_word(word, ids);
    ASSERT_EQ(ids, merge_slowly(vocabulary, word)) << word;
  }
}

TEST(BpeMerger, AWordOfAMegabyteTakesNoQuadraticTime) {
  const Vocabulary vocabulary = small_vocabulary();
  std::vector<std::int32_t> ids;
  BpeMerger(vocabulary).append_word(std::string(std::size_t{1} << 20, 'a'), ids);
  EXPECT_EQ(ids.size(), std::size_t{1} << 18);
}

TEST(BpeMerger, BytesAloneNeedNoMerges) {
  EXPECT_EQ(merged(make_vocabulary({}), "ab"), (std::vector<std::string>{"a", "b"}));
}

}  // namespace
}  // namespace crope::text
