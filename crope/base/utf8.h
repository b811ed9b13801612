// UTF-8: no overlong forms, no surrogates, nothing above U+10FFFF.
#pragma once

#include <cstddef>
#include <string_view>

namespace crope {

// Kind of the first bytes of a text: a whole character, the beginning of one that the text breaks off, or neither.
enum class Utf8Kind { character, beginning, invalid };

struct Utf8Character {
  Utf8Kind kind;
  std::size_t length;  // of the character, or of the longest part that one could have begun with, at least 1
};

// REQUIRES: text is not empty.
Utf8Character first_utf8_character(std::string_view text);

// How many bytes from the beginning are whole characters: all of them, in valid text.
std::size_t valid_utf8_prefix(std::string_view text);

}  // namespace crope
