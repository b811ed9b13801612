#include "crope/base/utf8.h"

#include <cstdint>
#include <cstring>

namespace crope {
namespace {

// Whether the next 8 * words bytes are ASCII.
bool is_ascii(const char* text, std::size_t words) {
  std::uint64_t all = 0;
  for (std::size_t w = 0; w < words; ++w) {
    std::uint64_t word;
    std::memcpy(&word, text + 8 * w, sizeof(word));
    all |= word;
  }
  return (all & 0x8080808080808080u) == 0;
}

}  // namespace

Utf8Character first_utf8_character(std::string_view text) {
  const auto byte = [&](std::size_t i) { return static_cast<unsigned char>(text[i]); };
  const unsigned char lead = byte(0);
  if (lead < 0x80) return {Utf8Kind::character, 1};
  const std::size_t length = lead >= 0xF0 ? 4 : lead >= 0xE0 ? 3 : 2;
  if (lead < 0xC2 || lead > 0xF4) return {Utf8Kind::invalid, 1};
  for (std::size_t i = 1; i < length; ++i) {
    if (i == text.size()) return {Utf8Kind::beginning, i};
    // The second byte excludes overlong forms, surrogates and what is above U+10FFFF.
    const unsigned char lowest = i > 1 ? 0x80 : lead == 0xE0 ? 0xA0 : lead == 0xF0 ? 0x90 : 0x80;
    const unsigned char highest = i > 1 ? 0xBF : lead == 0xED ? 0x9F : lead == 0xF4 ? 0x8F : 0xBF;
    if (byte(i) < lowest || byte(i) > highest) return {Utf8Kind::invalid, i};
  }
  return {Utf8Kind::character, length};
}

std::size_t valid_utf8_prefix(std::string_view text) {
  std::size_t i = 0;
  while (i < text.size()) {
    if (text.size() - i >= 32 && is_ascii(text.data() + i, 4)) {
      i += 32;
    } else if (text.size() - i >= 8 && is_ascii(text.data() + i, 1)) {
      i += 8;
    } else {
      const Utf8Character next = first_utf8_character(text.substr(i));
      if (next.kind != Utf8Kind::character) break;
      i += next.length;
    }
  }
  return i;
}

}  // namespace crope
