#include "crope/infer/token_text.h"

#include <gtest/gtest.h>

#include "crope/base/error.h"
#include "tests/text/fixtures.h"

namespace crope::infer {
namespace {

class TokenTextTest : public testing::Test {
 protected:
  // The pieces of a text whose tokens are single bytes; the last event has this finish reason.
  std::vector<TokenText::Piece> pieces(TokenText& text, const std::string& bytes, FinishReason last) {
    std::vector<TokenText::Piece> result;
    for (std::size_t i = 0; i < bytes.size(); ++i) {
      const bool is_last = i + 1 == bytes.size();
      const auto id = tokenizer_.find_token(bytes.substr(i, 1));
      result.push_back(text.take({.id = *id, .finish = is_last ? last : FinishReason::none}));
    }
    return result;
  }

  text::Tokenizer tokenizer_{text::small_vocabulary()};
};

TEST_F(TokenTextTest, AnEndTokenHasNoText) {
  TokenText text(&tokenizer_, {});
  EXPECT_EQ(text.take({.id = *tokenizer_.find_token("h")}).text, "h");
  const auto piece = text.take({.id = *tokenizer_.find_token("h"), .finish = FinishReason::end_token});
  EXPECT_EQ(piece.text, "");
  EXPECT_EQ(piece.finish, FinishReason::end_token);
  EXPECT_EQ(text.text(), "h");
}

TEST_F(TokenTextTest, AStopStringEndsTheTextBeforeIt) {
  TokenText text(&tokenizer_, {"lo"});
  const auto all = pieces(text, "hello", FinishReason::none);
  EXPECT_EQ(all.back().finish, FinishReason::stop);
  EXPECT_EQ(text.text(), "hel");
  std::string joined;
  for (const auto& piece : all) joined += piece.text;
  EXPECT_EQ(joined, "hel");
}

TEST_F(TokenTextTest, TheLastPieceBringsWhatWasHeldBack) {
  TokenText text(&tokenizer_, {"lo"});
  const auto all = pieces(text, "hel", FinishReason::length);
  EXPECT_EQ(all[1].text, "e");
  EXPECT_EQ(all[2].text, "l") << "held back as the possible start of a stop string until the end is known";
  EXPECT_EQ(all[2].finish, FinishReason::length);
}

TEST_F(TokenTextTest, AStopStringWinsOverTheLengthOfTheSameToken) {
  TokenText text(&tokenizer_, {"lo"});
  EXPECT_EQ(pieces(text, "hello", FinishReason::length).back().finish, FinishReason::stop);
}

TEST_F(TokenTextTest, SpecialAndUnknownTokensHaveNoText) {
  TokenText text(&tokenizer_, {});
  EXPECT_EQ(text.take({.id = *tokenizer_.end_of_text()}).text, "");
  EXPECT_EQ(text.take({.id = tokenizer_.vocab_size()}).text, "");
  EXPECT_EQ(text.take({.id = -1, .finish = FinishReason::length}).finish, FinishReason::length);
}

TEST_F(TokenTextTest, StopStringsNeedATokenizer) {
  EXPECT_THROW(TokenText(nullptr, {"x"}), UsageError);
  EXPECT_THROW(TokenText(&tokenizer_, {""}), UsageError);
  TokenText none(nullptr, {});
  EXPECT_EQ(none.take({.id = 3}).text, "");
}

}  // namespace
}  // namespace crope::infer
