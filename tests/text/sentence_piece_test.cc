#include "crope/text/sentence_piece.h"

#include <gtest/gtest.h>

#include <cmath>
#include <functional>

#include "crope/base/error.h"
#include "crope/text/tokenizer.h"
#include "crope/text/tokenizer_json.h"
#include "tests/temporary_folder.h"
#include "tests/text/sentence_piece_fixture.h"

namespace crope::text {
namespace {

std::vector<std::string> pieces_of(const Tokenizer& tokenizer, std::string_view text) {
  std::vector<std::string> pieces;
  for (const std::int32_t id : tokenizer.encode(text)) pieces.emplace_back(tokenizer.token_bytes(id));
  return pieces;
}

using Pieces = std::vector<std::string>;

TEST(SentencePiece, JoinsTheHighestScoreFirst) {
  const Tokenizer tokenizer(small_pieces());
  EXPECT_EQ(pieces_of(tokenizer, "the thing"), (Pieces{" the", " t", "h", "ing"}));
  EXPECT_EQ(pieces_of(tokenizer, "hehe"), (Pieces{" ", "he", "he"}));
  EXPECT_EQ(pieces_of(tokenizer, ""), Pieces{});
}

TEST(SentencePiece, CharactersWithoutATokenBecomeBytes) {
  const Tokenizer tokenizer(small_pieces());
  EXPECT_EQ(pieces_of(tokenizer, "é"), (Pieces{" ", "é"}));
  EXPECT_EQ(pieces_of(tokenizer, "ü"), (Pieces{" ", "\xC3", "\xBC"}));
  const std::int32_t newline = small_pieces().pieces->byte_tokens['\n'];
  EXPECT_EQ(tokenizer.encode("\n").back(), newline);
}

TEST(SentencePiece, DecodingGivesTheTextBack) {
  const Tokenizer tokenizer(small_pieces());
  for (const std::string text : {"the thing", " the", "a\nb  c", "日本 ü", "\xFF\xFE x", "<s> the"}) {
    EXPECT_EQ(tokenizer.decode(tokenizer.encode(text)), text);
  }
  EXPECT_EQ(tokenizer.encode_with_special("<s>the").front(), 1);
  Vocabulary bare = small_pieces();
  bare.pieces->add_space_prefix = false;
  EXPECT_EQ(pieces_of(Tokenizer(bare), "the"), (Pieces{"t", "he"})) << "he scores higher than th";
}

TEST(SentencePiece, TheSpaceMarkIsASpace) {
  const Tokenizer tokenizer(small_pieces());
  EXPECT_EQ(tokenizer.encode("\xE2\x96\x81the"), tokenizer.encode(" the"));
  EXPECT_EQ(marks_to_spaces(spaces_to_marks("a b  c")), "a b  c");
}

TEST(SentencePiece, SurvivesTokenizerJson) {
  const test::TemporaryFolder folder;
  for (const bool prefix : {true, false}) {
    Vocabulary vocabulary = small_pieces();
    vocabulary.pieces->add_space_prefix = prefix;
    write_tokenizer_files(folder.path(), vocabulary);
    const Tokenizer before(vocabulary), after = Tokenizer::load(folder.path());
    ASSERT_TRUE(after.vocabulary().pieces.has_value());
    EXPECT_EQ(after.vocabulary().tokens, vocabulary.tokens);
    EXPECT_EQ(after.vocabulary().pieces->byte_tokens, vocabulary.pieces->byte_tokens);
    for (const char* text : {"the thing thethe", "inin ging", "  the  h", "ü the"}) {
      EXPECT_EQ(after.encode(text), before.encode(text)) << text;
    }
  }
}

TEST(SentencePiece, ChecksItsVocabulary) {
  const auto refuses = [](const std::function<void(Vocabulary&)>& change) {
    Vocabulary vocabulary = small_pieces();
    change(vocabulary);
    EXPECT_THROW(vocabulary.check("test"), Error);
  };
  refuses([](Vocabulary& v) { v.pieces->scores.pop_back(); });
  refuses([](Vocabulary& v) { v.pieces->scores.back() = NAN; });
  refuses([](Vocabulary& v) { v.pieces->byte_tokens[65] = -1; });
  refuses([](Vocabulary& v) { v.pieces->byte_tokens.clear(); });
  refuses([](Vocabulary& v) { v.tokens.back().clear(); });
}

}  // namespace
}  // namespace crope::text
