#include "crope/text/word_cache.h"

#include <gtest/gtest.h>

#include <map>
#include <string>
#include <thread>
#include <vector>

namespace crope::text {
namespace {

using Ids = std::vector<std::int32_t>;

Ids find(const WordCache& cache, std::string_view word) {
  const auto found = cache.find(WordKey::of(word, word.data() + word.size()));
  return {found.begin(), found.end()};
}

bool insert(WordCache& cache, std::string_view word, const Ids& ids) {
  return cache.insert(WordKey::of(word, word.data() + word.size()), ids);
}

// Words of 1 to 60 bytes and 1 to 7 tokens.
std::string word_of(std::int32_t i) {
  return std::to_string(i) + std::string(static_cast<std::size_t>(i % 56), 'x');
}

Ids ids_of(std::int32_t i) {
  return Ids(static_cast<std::size_t>(i % 7 + 1), i);
}

TEST(WordCache, GivesBackWhatWasPutIn) {
  WordCache cache;
  for (std::int32_t i = 0; i < 5000; ++i) ASSERT_TRUE(insert(cache, word_of(i), ids_of(i)));
  for (std::int32_t i = 0; i < 5000; ++i) ASSERT_EQ(find(cache, word_of(i)), ids_of(i)) << word_of(i);
  EXPECT_EQ(find(cache, "absent"), Ids{});
  EXPECT_EQ(find(cache, "absent, and longer than sixteen bytes"), Ids{});
}

TEST(WordCache, KeepsTheFirstOfTwo) {
  WordCache cache(1);
  EXPECT_TRUE(insert(cache, "word", {1}));
  EXPECT_TRUE(insert(cache, "word", {2}));
  EXPECT_EQ(find(cache, "word"), Ids{1});
}

TEST(WordCache, TellsWordsApartThatDifferInLengthOnly) {
  WordCache cache;
  for (std::int32_t size = 1; size <= 40; ++size)
    insert(cache, std::string(static_cast<std::size_t>(size), '\0'), {size});
  for (std::int32_t size = 1; size <= 40; ++size) {
    EXPECT_EQ(find(cache, std::string(static_cast<std::size_t>(size), '\0')), Ids{size});
  }
}

TEST(WordCache, RefusesWhenFull) {
  WordCache few_words(100), few_ids(2), few_bytes(2);
  for (std::int32_t i = 0; i < 1000; ++i) EXPECT_EQ(insert(few_words, word_of(i), {i}), i < 100) << i;
  for (std::int32_t i = 0; i < 1000; ++i) EXPECT_EQ(find(few_words, word_of(i)), i < 100 ? Ids{i} : Ids{}) << i;

  // The longest word fits into any table, the next into none as small as this, and a short one still does.
  const std::string longest(WordCache::kLongestWord, 'x'), next(WordCache::kLongestWord, 'y');
  const Ids most(WordCache::kLongestWord, 7);
  EXPECT_TRUE(insert(few_ids, longest, most));
  EXPECT_FALSE(insert(few_ids, next, most));
  EXPECT_TRUE(insert(few_ids, "short", {1}));
  EXPECT_EQ(find(few_ids, longest), most);
  EXPECT_TRUE(insert(few_bytes, longest, {1}));
  EXPECT_FALSE(insert(few_bytes, next, {2}));
  EXPECT_EQ(find(few_bytes, longest), Ids{1});
  EXPECT_EQ(find(few_bytes, next), Ids{});
}

TEST(WordCache, DoesNotKeepVeryLongWords) {
  WordCache cache;
  const std::string word(WordCache::kLongestWord + 1, 'x');
  EXPECT_TRUE(insert(cache, word, {1}));
  EXPECT_EQ(find(cache, word), Ids{});
}

TEST(WordCache, ThreadsReadWhatOthersAdd) {
  WordCache cache;
  std::vector<int> wrong(4, 0);
  {
    std::vector<std::jthread> threads;
    for (std::size_t t = 0; t < wrong.size(); ++t) {
      threads.emplace_back([&cache, &count = wrong[t], t] {
        for (std::int32_t step = 0; step < 20000; ++step) {
          const std::int32_t i = step / 2 + static_cast<std::int32_t>(t);
          const Ids found = find(cache, word_of(i));
          if (found.empty()) {
            insert(cache, word_of(i), ids_of(i));
          } else {
            count += found != ids_of(i);
          }
        }
      });
    }
  }
  EXPECT_EQ(wrong, std::vector<int>(4, 0));
  for (std::int32_t i = 0; i < 10000; ++i) ASSERT_EQ(find(cache, word_of(i)), ids_of(i));
}

}  // namespace
}  // namespace crope::text
