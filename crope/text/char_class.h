// The classes of characters that GPT-2's pattern distinguishes, and the reading of one character from UTF-8.
#pragma once

#include <cstddef>
#include <cstdint>

namespace crope::text {

enum class CharClass : std::uint8_t {
  other,    // neither of the following, also unassigned code points
  letter,   // \p{L}
  number,   // \p{N}
  space,    // White_Space
  invalid,  // a byte that does not begin a valid UTF-8 character
};

struct Char {
  CharClass char_class;
  std::uint8_t length;  // in bytes; 1 when invalid
};

// The character at `at`. Overlong forms, surrogates and code points past U+10FFFF are invalid.
// REQUIRES: at < end.
Char char_at(const char* at, const char* end);

// By Unicode as the PCRE2 library of this machine knows it. REQUIRES: code_point <= 0x10FFFF.
CharClass class_of(char32_t code_point);

}  // namespace crope::text
