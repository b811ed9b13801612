// GPT-2's spelling of bytes in its files: each byte is one printable character, so that a token is a word of JSON or
// of a text file. Printable Latin-1 stands for itself; the other 68 bytes are U+0100, U+0101, … in their order.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace crope::text {

// The 256 bytes in the order in which GPT-2's vocabulary has them: those that stand for themselves come first.
const std::array<std::uint8_t, 256>& bytes_in_vocabulary_order();

// UTF-8 of the characters that stand for `bytes`: " a" gives "Ġa".
std::string spell_bytes(std::string_view bytes);

// The bytes that `spelling` stands for, or nothing when a character of it stands for none.
std::optional<std::string> unspell_bytes(std::string_view spelling);

}  // namespace crope::text
