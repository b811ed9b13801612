#include "crope/text/bpe_trainer.h"

#include <gtest/gtest.h>

#include <fstream>
#include <map>

#include "crope/base/error.h"
#include "crope/base/file.h"
#include "crope/base/json.h"
#include "tests/text/fixtures.h"

namespace crope::text {
namespace {

using Pairs = std::vector<std::pair<std::string, std::string>>;

Pairs merges_of(const Vocabulary& vocabulary) {
  Pairs pairs;
  for (const Merge& merge : vocabulary.merges) {
    pairs.emplace_back(vocabulary.tokens[merge.left], vocabulary.tokens[merge.right]);
  }
  return pairs;
}

WordCounts counts_of(const std::map<std::string, std::int64_t>& words) {
  WordCounts counts;
  for (const auto& [word, count] : words) counts.add_word(word, count);
  return counts;
}

// The rule itself: count all pairs, take the greatest, merge it everywhere, again. Pairs are pairs of byte strings.
Pairs train_slowly(const std::map<std::string, std::int64_t>& words, std::size_t merges) {
  std::vector<std::pair<std::vector<std::string>, std::int64_t>> split;
  for (const auto& [word, count] : words) {
    split.emplace_back();
    for (const char byte : word) split.back().first.emplace_back(1, byte);
    split.back().second = count;
  }
  Pairs result;
  while (result.size() < merges) {
    std::map<std::pair<std::string, std::string>, std::int64_t> counts;
    for (const auto& [parts, count] : split) {
      for (std::size_t i = 1; i < parts.size(); ++i) counts[{parts[i - 1], parts[i]}] += count;
    }
    if (counts.empty()) break;
    auto best = counts.begin();
    for (auto each = counts.begin(); each != counts.end(); ++each) {
      if (each->second >= best->second) best = each;
    }
    const auto [left, right] = best->first;
    result.emplace_back(left, right);
    for (auto& [parts, count] : split) {
      for (std::size_t i = 1; i < parts.size(); ++i) {
        if (parts[i - 1] != left || parts[i] != right) continue;
        parts[i - 1] += right;
        parts.erase(parts.begin() + static_cast<std::ptrdiff_t>(i));
      }
    }
  }
  return result;
}

TEST(BpeTrainer, IdsAreSpecialTokensThenBytesThenMerges) {
  const BpeTrainerOptions options{.vocab_size = 260, .special_tokens = {"<|endoftext|>", "<|pad|>"}};
  const Vocabulary vocabulary = train_bpe(counts_of({{"aab", 3}, {"ab", 1}}), options);
  EXPECT_EQ(vocabulary.tokens.size(), 260u);
  EXPECT_EQ(vocabulary.tokens[0], "<|endoftext|>");
  EXPECT_EQ(vocabulary.tokens[1], "<|pad|>");
  EXPECT_EQ(vocabulary.tokens[2], "!");
  EXPECT_EQ(merges_of(vocabulary), (Pairs{{"a", "b"}, {"a", "ab"}}));
}

TEST(BpeTrainer, OfEqualCountsTheGreatestPairWins) {
  const WordCounts words = counts_of({{"ab", 5}, {"cd", 5}, {"ca", 5}, {"\xC3\xA9", 5}});
  EXPECT_EQ(merges_of(train_bpe(words, {.vocab_size = 261})),
            (Pairs{{"\xC3", "\xA9"}, {"c", "d"}, {"c", "a"}, {"a", "b"}}));
}

TEST(BpeTrainer, FollowsTheRuleOnRandomWords) {
  std::mt19937 random(6);
  for (int round = 0; round < 60; ++round) {
    std::map<std::string, std::int64_t> words;
    for (int i = 0; i < 30; ++i) {
      std::string word(1 + random() % 12, ' ');
      for (char& byte : word) byte = "aabc"[random() % 4];
      words[word] += 1 + static_cast<std::int64_t>(random() % 5);
    }
    const Pairs slow = train_slowly(words, 25);
    const Vocabulary vocabulary = train_bpe(counts_of(words), {.vocab_size = 257 + 25});
    const Pairs fast = merges_of(vocabulary);
    // Two merges of the same bytes share a token here, so that there may be more merges than tokens.
    ASSERT_GE(fast.size(), slow.size());
    ASSERT_EQ(Pairs(fast.begin(), fast.begin() + static_cast<std::ptrdiff_t>(slow.size())), slow);
  }
}

TEST(BpeTrainer, StopsWhenNothingIsLeft) {
  EXPECT_EQ(train_bpe(counts_of({{"ab", 1}}), {.vocab_size = 1000}).tokens.size(), 258u);
  EXPECT_EQ(train_bpe(counts_of({{"ab", 3}, {"cd", 2}}), {.vocab_size = 1000, .min_count = 3}).tokens.size(), 258u);
  EXPECT_EQ(train_bpe(WordCounts(), {.vocab_size = 1000}).tokens.size(), 257u);
}

TEST(BpeTrainer, RefusesWhatCannotBe) {
  EXPECT_THROW(train_bpe(WordCounts(), {.vocab_size = 256}), UsageError);
  EXPECT_THROW(train_bpe(WordCounts(), {.vocab_size = std::int64_t{1} << 40}), UsageError);
  EXPECT_THROW(train_bpe(WordCounts(), {.vocab_size = 300, .special_tokens = {"x", "x"}}), Error);
}

TEST(BpeTrainer, ThreadsAndOrderOfDocumentsDoNotMatter) {
  std::mt19937 random(7);
  std::vector<std::string> documents;
  for (int i = 0; i < 100; ++i) documents.push_back(random_text(random, 200));
  const auto train = [&](int threads) {
    std::size_t next = 0;
    const DocumentSource source = [&](std::string& document) {
      if (next == documents.size()) return false;
      document = documents[next++];
      return true;
    };
    return train_bpe(count_words(source, {}, threads), {.vocab_size = 600}).fingerprint();
  };
  const std::string once = train(1);
  EXPECT_EQ(train(4), once);
  std::ranges::reverse(documents);
  EXPECT_EQ(train(3), once);
}

TEST(BpeTrainer, GivesTheKnownMergesOfAKnownCorpus) {
  const auto data = test_data();
  if (!data) GTEST_SKIP() << "CROPE_TEST_DATA is not set";
  const auto folder = *data / "tokenizer/bpe-training";
  WordCounts words;
  words.add_text(read_file(folder / "corpus.en"));
  const Vocabulary vocabulary = train_bpe(words, {.vocab_size = 500});
  std::ifstream file(folder / "train-bpe-reference-merges.txt");
  std::vector<std::string> expected, got;
  for (std::string line; std::getline(file, line);) expected.push_back(line);
  for (const auto& [left, right] : merges_of(vocabulary)) got.push_back(spell_bytes(left) + " " + spell_bytes(right));
  EXPECT_EQ(got, expected);
  const Json ids = read_json(folder / "train-bpe-reference-vocab.json");
  EXPECT_EQ(ids.size(), vocabulary.tokens.size());
  for (const auto& [token, id] : ids.items()) {
    const std::string& ours = vocabulary.tokens.at(id.get<std::size_t>());
    EXPECT_EQ(ours == kEndOfText ? ours : spell_bytes(ours), token);
  }
}

}  // namespace
}  // namespace crope::text
