#include "crope/text/word_cache.h"

#include <gtest/gtest.h>

#include <map>
#include <string>

namespace crope::text {
namespace {

using Ids = std::vector<std::int32_t>;

Ids find(const WordCache& cache, std::string_view word) {
  const auto found = cache.find(WordCache::key_of(word, word.data() + word.size()));
  return {found.begin(), found.end()};
}

void insert(WordCache& cache, std::string_view word, const Ids& ids) {
  cache.insert(WordCache::key_of(word, word.data() + word.size()), ids);
}

TEST(WordCache, GivesBackWhatWasPutIn) {
  WordCache cache;
  std::map<std::string, Ids> expected;
  for (std::int32_t i = 0; i < 5000; ++i) {
    const std::string word = std::to_string(i) + std::string(static_cast<std::size_t>(i % 40), 'x');
    expected[word] = i % 3 == 0 ? Ids{i} : Ids{i, i + 1, i + 2};
    insert(cache, word, expected[word]);
  }
  EXPECT_EQ(cache.size(), 5000u);
  for (const auto& [word, ids] : expected) ASSERT_EQ(find(cache, word), ids) << word;
  EXPECT_EQ(find(cache, "absent"), Ids{});
  EXPECT_EQ(find(cache, "absent, and longer than sixteen bytes"), Ids{});
}

TEST(WordCache, TellsWordsApartThatDifferInLengthOnly) {
  WordCache cache;
  for (std::int32_t size = 1; size <= 40; ++size)
    insert(cache, std::string(static_cast<std::size_t>(size), '\0'), {size});
  for (std::int32_t size = 1; size <= 40; ++size) {
    EXPECT_EQ(find(cache, std::string(static_cast<std::size_t>(size), '\0')), Ids{size});
  }
}

TEST(WordCache, BytesBehindAWordDoNotMatter) {
  const std::string text = "word and something behind it, word";
  for (std::size_t size = 1; size <= 20; ++size) {
    WordCache cache;
    const std::string_view word = std::string_view(text).substr(0, size);
    cache.insert(WordCache::key_of(word, text.data() + text.size()), Ids{7});
    EXPECT_EQ(find(cache, std::string(word)), Ids{7}) << size;
  }
}

TEST(WordCache, ForgetsWhenFull) {
  WordCache cache(100);
  for (std::int32_t i = 0; i < 1000; ++i) {
    insert(cache, "word" + std::to_string(i), {i, i});
    EXPECT_LE(cache.size(), 100u);
    EXPECT_EQ(find(cache, "word" + std::to_string(i)), (Ids{i, i}));
  }
}

TEST(WordCache, DoesNotKeepVeryLongWords) {
  WordCache cache;
  const std::string word(WordCache::kLongestWord + 1, 'x');
  insert(cache, word, {1});
  EXPECT_EQ(find(cache, word), Ids{});
  EXPECT_EQ(cache.size(), 0u);
}

}  // namespace
}  // namespace crope::text
