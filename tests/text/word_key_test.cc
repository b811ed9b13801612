#include "crope/text/word_key.h"

#include <gtest/gtest.h>

#include <set>
#include <string>

namespace crope::text {
namespace {

WordKey key_of(std::string_view word) {
  return WordKey::of(word, word.data() + word.size());
}

bool same(const WordKey& x, const WordKey& y) {
  return x.low == y.low && x.high == y.high && x.hash == y.hash;
}

TEST(WordKey, BytesBehindAWordDoNotMatter) {
  const std::string text = "word and something behind it, word";
  for (std::size_t size = 1; size <= 20; ++size) {
    const std::string_view word = std::string_view(text).substr(0, size);
    EXPECT_TRUE(same(WordKey::of(word, text.data() + text.size()), key_of(std::string(word)))) << size;
  }
}

TEST(WordKey, EveryByteAndTheLengthMatter) {
  for (std::size_t size = 1; size <= 40; ++size) {
    const std::string word(size, '\0');
    EXPECT_NE(key_of(word).hash, key_of(word + '\0').hash) << size;
    for (std::size_t at = 0; at < size; ++at) {
      std::string other = word;
      other[at] = '\1';
      EXPECT_FALSE(same(key_of(word), key_of(other))) << size << " " << at;
      EXPECT_NE(key_of(word).hash, key_of(other).hash) << size << " " << at;
    }
  }
}

TEST(WordKey, AShortWordIsItsOwnKey) {
  EXPECT_FALSE(key_of("0123456789abcdef").is_long());
  EXPECT_TRUE(key_of("0123456789abcdefg").is_long());
  EXPECT_EQ(key_of("a").low, 'a');
  EXPECT_EQ(key_of("01234567a").high, 'a');
}

// These meet in one place of every table under the constants that the hash once had: one factor is zero.
TEST(WordKey, NobodyCanChooseWordsThatMeet) {
  std::set<std::uint64_t> hashes;
  for (std::uint64_t i = 0; i < 100; ++i) {
    const std::uint64_t bytes[2] = {0xA0761D6478BD642F ^ 16, i};
    hashes.insert(key_of({reinterpret_cast<const char*>(bytes), sizeof(bytes)}).hash);
  }
  EXPECT_GT(hashes.size(), 90u);
}

}  // namespace
}  // namespace crope::text
