#include "crope/eval/request_encoding.h"

#include <gtest/gtest.h>

#include "crope/base/error.h"
#include "crope/text/byte_alphabet.h"
#include "crope/text/vocabulary.h"

namespace crope::eval {
namespace {

using Ids = std::vector<std::int32_t>;

// <|endoftext|> is 0; then the bytes; then " t", "ab" and "cd" as tokens of two bytes.
text::Tokenizer small_tokenizer() {
  text::Vocabulary vocabulary;
  vocabulary.tokens.emplace_back(text::kEndOfText);
  vocabulary.special_tokens.push_back({std::string(text::kEndOfText), 0});
  for (const std::uint8_t byte : text::bytes_in_vocabulary_order()) {
    vocabulary.tokens.emplace_back(1, static_cast<char>(byte));
  }
  const auto id_of = [&](const std::string& token) {
    return static_cast<std::int32_t>(std::find(vocabulary.tokens.begin(), vocabulary.tokens.end(), token) -
                                     vocabulary.tokens.begin());
  };
  for (const auto& [left, right] : {std::pair(" ", "t"), std::pair("a", "b"), std::pair("c", "d")}) {
    vocabulary.tokens.push_back(std::string(left) + right);
    vocabulary.merges.push_back({id_of(left), id_of(right), id_of(std::string(left) + right)});
  }
  return text::Tokenizer(std::move(vocabulary));
}

constexpr Prefix kPlain = {.token = 0};
constexpr Prefix kWithBos = {.token = 0, .bos = Bos::added};

std::string text_of(const text::Tokenizer& tokenizer, const Ids& ids) {
  return tokenizer.decode(ids);
}

TEST(EncodePair, SplitsByTheLengthOfTheContext) {
  const text::Tokenizer tokenizer = small_tokenizer();
  const auto pair = encode_pair(tokenizer, "x ab", " to", kPlain);
  EXPECT_EQ(text_of(tokenizer, pair.context), "x ab");
  EXPECT_EQ(text_of(tokenizer, pair.continuation), " to");
  // The whole becomes "x", "ab": one token less than "x", "a" and "b". What is left is cut by number, not by letters.
  const auto merged = encode_pair(tokenizer, "xa", "bz", kPlain);
  EXPECT_EQ(merged.context.size(), 2u);
  EXPECT_EQ(merged.continuation, tokenizer.encode("z"));
}

TEST(EncodePair, WhiteSpaceAtTheEndOfTheContextMovesOver) {
  const text::Tokenizer tokenizer = small_tokenizer();
  const auto pair = encode_pair(tokenizer, "ab \n ", " to", kPlain);
  EXPECT_EQ(text_of(tokenizer, pair.context), "ab");
  EXPECT_EQ(text_of(tokenizer, pair.continuation), " \n  to");
}

TEST(EncodePair, AnEmptyContextIsThePrefix) {
  const text::Tokenizer tokenizer = small_tokenizer();
  const auto pair = encode_pair(tokenizer, "", "ab", kPlain);
  EXPECT_EQ(pair.context, Ids{0});
  EXPECT_EQ(text_of(tokenizer, pair.continuation), "ab");
  const auto marked = encode_pair(tokenizer, "", "<|endoftext|>ab", kPlain);
  EXPECT_EQ(marked.context, Ids{0});
  EXPECT_EQ(text_of(tokenizer, marked.continuation), "ab");
}

// An imported model has a bos of its own, and <|endoftext|> is a token like others.
TEST(EncodePair, ThePrefixIsThatOfTheModel) {
  const text::Tokenizer tokenizer = small_tokenizer();
  const Prefix own{.token = 7};
  EXPECT_EQ(encode_pair(tokenizer, "", "ab", own).context, Ids{7});
  const auto marked = encode_pair(tokenizer, "", "<|endoftext|>ab", own);
  EXPECT_EQ(marked.context, Ids{7});
  EXPECT_EQ(marked.continuation.front(), 0) << "not the prefix, so it stays";
  EXPECT_EQ(encode_prompt(tokenizer, "ab", {.token = 7, .bos = Bos::added}).front(), 7);
  EXPECT_THROW(encode_pair(tokenizer, "", "ab", {}), Error);
  EXPECT_EQ(encode_pair(tokenizer, "x", "ab", {}).context, tokenizer.encode("x"));
}

TEST(EncodePair, SpecialTokensInTheTextCount) {
  const text::Tokenizer tokenizer = small_tokenizer();
  EXPECT_EQ(encode_pair(tokenizer, "<|endoftext|>", "ab", kPlain).context, Ids{0});
}

TEST(EncodePair, BosWhereAskedForAndOnce) {
  const text::Tokenizer tokenizer = small_tokenizer();
  const auto with = encode_pair(tokenizer, "x ab", " to", kWithBos);
  const auto without = encode_pair(tokenizer, "x ab", " to", kPlain);
  EXPECT_EQ(with.continuation, without.continuation);
  EXPECT_EQ(with.context.front(), 0);
  EXPECT_EQ(with.context.size(), without.context.size() + 1);
  EXPECT_EQ(encode_prompt(tokenizer, "<|endoftext|>ab", kWithBos), encode_prompt(tokenizer, "<|endoftext|>ab", kPlain));
}

// The windows that lm_eval's get_rolling_token_windows and make_disjoint_window give.
TEST(RollingWindows, EveryTokenOnceAsLmEvalCutsThem) {
  const Ids tokens = {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11};
  const auto windows = rolling_windows(tokens, 0, 4);
  ASSERT_EQ(windows.size(), 3u);
  EXPECT_EQ(windows[0].context, Ids{0});
  EXPECT_EQ(windows[0].continuation, (Ids{1, 2, 3, 4}));
  EXPECT_EQ(windows[1].context, Ids{4});
  EXPECT_EQ(windows[1].continuation, (Ids{5, 6, 7, 8}));
  EXPECT_EQ(windows[2].context, (Ids{7, 8}));
  EXPECT_EQ(windows[2].continuation, (Ids{9, 10, 11}));
  EXPECT_EQ(rolling_windows(std::span(tokens).first(8), 0, 4).size(), 2u);
  EXPECT_EQ(rolling_windows(std::span(tokens).first(3), 0, 4).size(), 1u);
  EXPECT_TRUE(rolling_windows({}, 0, 4).empty());
}

}  // namespace
}  // namespace crope::eval
