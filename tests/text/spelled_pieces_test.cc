#include "crope/text/spelled_pieces.h"

#include <gtest/gtest.h>

#include "crope/base/error.h"
#include "tests/text/sentence_piece_fixture.h"

namespace crope::text {
namespace {

TEST(SpelledPieces, BytesHaveNames) {
  EXPECT_EQ(byte_of_piece("<0x0A>"), 10);
  EXPECT_EQ(byte_of_piece("<0xff>"), 255);
  for (const char* other : {"<0x0>", "<0x0AA>", "0x0A", "<0xZZ>", "", "<unk>"}) {
    EXPECT_EQ(byte_of_piece(other), std::nullopt) << other;
  }
  const Vocabulary vocabulary = small_pieces();
  EXPECT_EQ(spell_piece(vocabulary, 3 + 'A'), "<0x41>");
  EXPECT_EQ(spell_piece(vocabulary, 259), "\xE2\x96\x81t");
}

TEST(SpelledPieces, MergesFollowScores) {
  const auto merges = piece_merges(small_pieces());
  ASSERT_GE(merges.size(), 3u);
  EXPECT_EQ(merges[0], (std::pair<std::string, std::string>{"\xE2\x96\x81", "t"}));
  EXPECT_EQ(merges[1], (std::pair<std::string, std::string>{"h", "e"}));
  EXPECT_EQ(merges[2], (std::pair<std::string, std::string>{"\xE2\x96\x81t", "he"}));
}

TEST(SpelledPieces, DamageIsNamed) {
  SpelledVocabulary spelled{.origin = "f"};
  EXPECT_THROW(unspell_pieces(spelled, true), Error) << "no bytes";
  spelled.tokens = {{"a", 0}, {"b", 0}};
  EXPECT_THROW(unspell_pieces(spelled, true), Error) << "one id twice";
  spelled.tokens = {{"a", 0}, {"b", 7}};
  EXPECT_THROW(unspell_pieces(spelled, true), Error) << "a hole";
  spelled.tokens = {{"a", 0}};
  spelled.merges = {{"a", "b"}};
  EXPECT_THROW(unspell_pieces(spelled, true), Error) << "a merge without its token";
}

}  // namespace
}  // namespace crope::text
