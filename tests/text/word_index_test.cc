#include "crope/text/word_index.h"

#include <gtest/gtest.h>

#include <map>
#include <string>

namespace crope::text {
namespace {

WordKey index_key(std::string_view word) {
  return WordKey::of(word, word.data() + word.size());
}

TEST(WordIndex, GivesBackWhatWasPutIn) {
  WordIndex index;
  std::map<std::string, std::uint32_t> expected;
  for (std::uint32_t i = 0; i < 5000; ++i) {
    const std::string word = std::to_string(i) + std::string(i % 400, 'x');
    expected[word] = i;
    index.insert(index_key(word), i);
  }
  for (const auto& [word, number] : expected) ASSERT_EQ(index.find(index_key(word)), number) << word;
  EXPECT_EQ(index.find(index_key("absent")), std::nullopt);
  EXPECT_EQ(index.find(index_key("absent, and longer than sixteen bytes")), std::nullopt);
}

TEST(WordIndex, TellsWordsApartThatDifferInLengthOnly) {
  WordIndex index;
  for (std::uint32_t size = 1; size <= 40; ++size) index.insert(index_key(std::string(size, '\0')), size);
  for (std::uint32_t size = 1; size <= 40; ++size) EXPECT_EQ(index.find(index_key(std::string(size, '\0'))), size);
}

}  // namespace
}  // namespace crope::text
