#include "crope/text/byte_alphabet.h"

#include <gtest/gtest.h>

#include <set>

namespace crope::text {
namespace {

TEST(ByteAlphabet, SpellsAsGpt2Does) {
  EXPECT_EQ(spell_bytes(" a"), "Ġa");
  EXPECT_EQ(spell_bytes("\n"), "Ċ");
  EXPECT_EQ(spell_bytes("é"), "Ã©");
  EXPECT_EQ(spell_bytes(std::string(1, '\0')), "Ā");
  EXPECT_EQ(spell_bytes("\xAD"), "Ń");
}

TEST(ByteAlphabet, EveryByteComesBackFromItsOwnSpelling) {
  std::set<std::string> spellings;
  for (int byte = 0; byte < 256; ++byte) {
    const std::string bytes(1, static_cast<char>(byte));
    EXPECT_EQ(unspell_bytes(spell_bytes(bytes)), bytes);
    spellings.insert(spell_bytes(bytes));
  }
  EXPECT_EQ(spellings.size(), 256u);
}

TEST(ByteAlphabet, OrderStartsWithPrintableBytes) {
  const auto& order = bytes_in_vocabulary_order();
  EXPECT_EQ(order[0], '!');
  EXPECT_EQ(order[93], '~');
  EXPECT_EQ(order[94], 0xA1);
  EXPECT_EQ(order[188], 0x00);
  EXPECT_EQ(order[255], 0xAD);
  EXPECT_EQ(std::set<int>(order.begin(), order.end()).size(), 256u);
}

TEST(ByteAlphabet, RefusesOtherCharacters) {
  for (const char* spelling : {" ", "a b", "日", "\xC4", "\xFF", "a\xC0\x80", "\u00AD", "\u0145"}) {
    EXPECT_EQ(unspell_bytes(spelling), std::nullopt) << spelling;
  }
}

}  // namespace
}  // namespace crope::text
