#include "crope/text/char_class.h"

#include <gtest/gtest.h>

#include <string>
#include <string_view>

namespace crope::text {
namespace {

CharClass class_at_start(std::string_view text) {
  return char_at(text.data(), text.data() + text.size()).char_class;
}

TEST(CharClass, KnowsUnicode) {
  for (const char32_t letter : {U'a', U'Z', U'é', U'Ж', U'語', U'ª', U'ʰ', U'𝔘'}) {
    EXPECT_EQ(class_of(letter), CharClass::letter) << static_cast<unsigned>(letter);
  }
  for (const char32_t number : {U'0', U'٣', U'½', U'Ⅷ', U'㊿', U'𝟘'}) {
    EXPECT_EQ(class_of(number), CharClass::number) << static_cast<unsigned>(number);
  }
  for (const char32_t space : {U' ', U'\t', U'\v', U'\r', U'\u0085', U'\u00A0', U'\u2028', U'\u3000'}) {
    EXPECT_EQ(class_of(space), CharClass::space) << static_cast<unsigned>(space);
  }
  // A combining mark, a separator that is no white space, a former white space, an emoji, a control, nothing.
  for (const char32_t other : {U'\u0301', U'\x1C', U'\u180E', U'🙂', U'\x01', U'\U0010FFFF', U'\u200B', U'_'}) {
    EXPECT_EQ(class_of(other), CharClass::other) << static_cast<unsigned>(other);
  }
}

TEST(CharClass, ThereAre25KindsOfWhiteSpace) {
  int spaces = 0;
  for (char32_t point = 0; point < 0x110000; ++point) spaces += class_of(point) == CharClass::space;
  EXPECT_EQ(spaces, 25);
}

TEST(CharClass, ReadsUtf8OfEveryLength) {
  for (const std::string text : {"a", "é", "語", "𝔘"}) {
    const Char found = char_at(text.data(), text.data() + text.size());
    EXPECT_EQ(found.char_class, CharClass::letter);
    EXPECT_EQ(found.length, text.size());
    for (std::size_t cut = 1; cut < text.size(); ++cut) {
      EXPECT_EQ(class_at_start(text.substr(0, cut)), CharClass::invalid) << text << " cut to " << cut;
      EXPECT_EQ(class_at_start(text.substr(cut)), CharClass::invalid) << text << " from " << cut;
    }
  }
}

TEST(CharClass, RefusesWhatIsNotUtf8) {
  using std::string_literals::operator""s;
  for (const std::string& text : {"\x80"s, "\xC0\x80"s, "\xC1\xBF"s, "\xE0\x80\x80"s, "\xE0\x9F\xBF"s, "\xED\xA0\x80"s,
                                  "\xED\xBF\xBF"s, "\xF0\x8F\xBF\xBF"s, "\xF4\x90\x80\x80"s, "\xF5\x80\x80\x80"s,
                                  "\xFF"s, "\xC3("s, "\xE2\x82("s, "\xF0\x9F\x99("s}) {
    const Char found = char_at(text.data(), text.data() + text.size());
    EXPECT_EQ(found.char_class, CharClass::invalid);
    EXPECT_EQ(found.length, 1);
  }
}

}  // namespace
}  // namespace crope::text
