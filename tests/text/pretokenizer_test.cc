#include "crope/text/pretokenizer.h"

#include <gtest/gtest.h>

#include "tests/text/fixtures.h"

namespace crope::text {
namespace {

using Words = std::vector<std::string_view>;

constexpr WordSplit kEverySplit[] = {WordSplit::gpt2, WordSplit::smollm, WordSplit::llama3, WordSplit::qwen2};

TEST(Pretokenizer, SplitsAsGpt2Does) {
  EXPECT_EQ(split_words("Hello world"), (Words{"Hello", " world"}));
  EXPECT_EQ(split_words("I'm, they'll; we've 'S"),
            (Words{"I", "'m", ",", " they", "'ll", ";", " we", "'ve", " '", "S"}));
  EXPECT_EQ(split_words("a1b22 33"), (Words{"a", "1", "b", "22", " 33"}));
  EXPECT_EQ(split_words("x   y"), (Words{"x", "  ", " y"}));
  EXPECT_EQ(split_words("x \n\n y"), (Words{"x", " \n\n", " y"}));
  EXPECT_EQ(split_words("x\n\ny"), (Words{"x", "\n", "\n", "y"}));
  EXPECT_EQ(split_words("x  "), (Words{"x", "  "}));
  EXPECT_EQ(split_words("''s"), (Words{"''", "s"}));
  EXPECT_EQ(split_words("日本 🙂!"), (Words{"日本", " 🙂!"}));
  EXPECT_EQ(split_words(""), Words{});
}

TEST(Pretokenizer, SmolLmCutsDigitsOutFirst) {
  const auto split = [](std::string_view text) { return split_words(text, WordSplit::smollm); };
  EXPECT_EQ(split("a1b22 33"), (Words{"a", "1", "b", "2", "2", " ", "3", "3"}));
  EXPECT_EQ(split("x   1 y"), (Words{"x", "   ", "1", " y"}));
  EXPECT_EQ(split("x   y"), (Words{"x", "  ", " y"}));
  EXPECT_EQ(split("7's ½"), (Words{"7", "'s", " ", "½"}));
}

TEST(Pretokenizer, Llama3AndQwen2TakeACharacterBeforeLettersAlong) {
  const auto llama = [](std::string_view text) { return split_words(text, WordSplit::llama3); };
  const auto qwen = [](std::string_view text) { return split_words(text, WordSplit::qwen2); };
  EXPECT_EQ(llama("Hello, (world) we'LL"), (Words{"Hello", ",", " (", "world", ")", " we", "'LL"}));
  EXPECT_EQ(llama("12345 a"), (Words{"123", "45", " a"}));
  EXPECT_EQ(qwen("123 a"), (Words{"1", "2", "3", " a"}));
  EXPECT_EQ(llama("x;\n\n  y"), (Words{"x", ";\n\n", " ", " y"}));
  EXPECT_EQ(llama("a \n \n b\tc"), (Words{"a", " \n \n", " b", "\tc"}));
  EXPECT_EQ(llama("\"quoted"), (Words{"\"quoted"}));
}

TEST(Pretokenizer, InvalidBytesStandAlone) {
  EXPECT_EQ(split_words("ab\xFF\xFE"
                        "cd"),
            (Words{"ab", "\xFF", "\xFE", "cd"}));
  EXPECT_EQ(split_words("a  \xFF"), (Words{"a", "  ", "\xFF"}));
  EXPECT_EQ(split_words(" \xE2\x82"), (Words{" ", "\xE2", "\x82"}));
}

TEST(Pretokenizer, AgreesWithThePatternOnEveryCharacterInEveryPlace) {
  for (char32_t point = 0; point < 0x110000; ++point) {
    if (point >= 0xD800 && point < 0xE000) continue;
    std::string c;
    if (point < 0x80) {
      c = {static_cast<char>(point)};
    } else if (point < 0x800) {
      c = {static_cast<char>(0xC0 | point >> 6), static_cast<char>(0x80 | (point & 0x3F))};
    } else if (point < 0x10000) {
      c = {static_cast<char>(0xE0 | point >> 12), static_cast<char>(0x80 | (point >> 6 & 0x3F)),
           static_cast<char>(0x80 | (point & 0x3F))};
    } else {
      c = {static_cast<char>(0xF0 | point >> 18), static_cast<char>(0x80 | (point >> 12 & 0x3F)),
           static_cast<char>(0x80 | (point >> 6 & 0x3F)), static_cast<char>(0x80 | (point & 0x3F))};
    }
    const std::string text = c + "a" + c + "1 " + c + c + " ." + c + " ";
    for (const WordSplit split : kEverySplit) {
      // Every character for GPT-2, every seventh and all of the first pages for the others.
      if (split != WordSplit::gpt2 && point > 0x3100 && point % 7 != 0) continue;
      ASSERT_EQ(split_words(text, split), split_words_by_pattern(text, split))
          << "U+" << std::hex << static_cast<unsigned>(point) << " split " << static_cast<int>(split);
    }
  }
}

TEST(Pretokenizer, AgreesWithThePatternOnRandomText) {
  std::mt19937 random(1);
  for (int round = 0; round < 20000; ++round) {
    const std::string text = random_text(random, 1 + random() % 24);
    for (const WordSplit split : kEverySplit) {
      ASSERT_EQ(split_words(text, split), split_words_by_pattern(text, split))
          << testing::PrintToString(text) << " split " << static_cast<int>(split);
    }
  }
}

TEST(Pretokenizer, AgreesWithThePatternOnRandomBytes) {
  std::mt19937 random(2);
  for (int round = 0; round < 5000; ++round) {
    std::string text(random() % 64, '\0');
    for (char& byte : text) byte = static_cast<char>(random());
    for (const WordSplit split : kEverySplit) {
      ASSERT_EQ(split_words(text, split), split_words_by_pattern(text, split))
          << testing::PrintToString(text) << " split " << static_cast<int>(split);
    }
  }
}

TEST(Pretokenizer, ASafeCutChangesNoWord) {
  std::mt19937 random(3);
  for (int round = 0; round < 5000; ++round) {
    const std::string text = random_text(random, 40);
    const std::size_t cut = safe_cut(text, random() % (text.size() + 1));
    for (const WordSplit split : kEverySplit) {
      Words words = split_words(std::string_view(text).substr(0, cut), split);
      for (const std::string_view word : split_words(std::string_view(text).substr(cut), split)) words.push_back(word);
      ASSERT_EQ(words, split_words(text, split)) << testing::PrintToString(text) << " cut at " << cut;
    }
  }
  EXPECT_EQ(safe_cut("one two three", 4), 7u);
  EXPECT_EQ(safe_cut("12345", 2), 5u);
  EXPECT_EQ(safe_cut("", 0), 0u);
}

}  // namespace
}  // namespace crope::text
