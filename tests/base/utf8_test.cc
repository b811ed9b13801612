#include "crope/base/utf8.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <string>

namespace crope {
namespace {

// As RFC 3629 writes a code point.
std::string encoded(std::uint32_t code) {
  const auto tail = [&](int shift) { return static_cast<char>(0x80 | ((code >> shift) & 0x3F)); };
  if (code < 0x80) return {static_cast<char>(code)};
  if (code < 0x800) return {static_cast<char>(0xC0 | (code >> 6)), tail(0)};
  if (code < 0x10000) return {static_cast<char>(0xE0 | (code >> 12)), tail(6), tail(0)};
  return {static_cast<char>(0xF0 | (code >> 18)), tail(12), tail(6), tail(0)};
}

TEST(Utf8, EveryCodePointIsACharacterAndNoSurrogateIs) {
  for (std::uint32_t code = 0; code < 0x110000; ++code) {
    const std::string text = encoded(code);
    const Utf8Character first = first_utf8_character(text);
    const bool is_surrogate = code >= 0xD800 && code <= 0xDFFF;
    ASSERT_EQ(first.kind, is_surrogate ? Utf8Kind::invalid : Utf8Kind::character) << code;
    ASSERT_EQ(valid_utf8_prefix(text), is_surrogate ? 0 : text.size()) << code;
  }
}

TEST(Utf8, APartOfACharacterIsABeginning) {
  for (const std::uint32_t code : {0xE9u, 0x20ACu, 0x1F600u}) {
    const std::string text = encoded(code);
    for (std::size_t length = 1; length < text.size(); ++length) {
      const Utf8Character first = first_utf8_character(std::string_view(text).substr(0, length));
      EXPECT_EQ(first.kind, Utf8Kind::beginning) << code;
      EXPECT_EQ(first.length, length);
    }
  }
}

TEST(Utf8, WhatIsNoCharacterIsInvalidUpToWhereItCouldHaveBeenOne) {
  const struct {
    std::string_view text;
    std::size_t length;
  } cases[] = {{"\x80", 1},         {"\xC0\x80", 1},     {"\xC1\xBF", 1},     {"\xE0\x9F\xBF", 1},
               {"\xED\xA0\x80", 1}, {"\xF0\x8F\xBF", 1}, {"\xF4\x90\x80", 1}, {"\xF5\x80\x80\x80", 1},
               {"\xFF", 1},         {"\xE2\x82 ", 2},    {"\xF0\x9F\x98 ", 3}};
  for (const auto& c : cases) {
    const Utf8Character first = first_utf8_character(c.text);
    EXPECT_EQ(first.kind, Utf8Kind::invalid) << c.text;
    EXPECT_EQ(first.length, c.length) << c.text;
  }
}

// Wherever it stands between runs of ASCII, which are passed over many at a time.
TEST(Utf8, TheFirstFaultIsFoundAtEveryPlace) {
  for (std::size_t before = 0; before < 80; ++before) {
    for (std::size_t after : {0, 1, 40}) {
      const std::string good = std::string(before, 'a') + "\xC3\xA9" + std::string(after, 'b');
      EXPECT_EQ(valid_utf8_prefix(good), good.size());
      const std::string bad = std::string(before, 'a') + "\xC3" + std::string(after, 'b');
      EXPECT_EQ(valid_utf8_prefix(bad), before);
    }
  }
  EXPECT_EQ(valid_utf8_prefix(""), 0u);
}

}  // namespace
}  // namespace crope
