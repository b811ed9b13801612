#include "crope/text/byte_alphabet.h"

namespace crope::text {
namespace {

constexpr int kFirstReplacement = 0x100;
constexpr int kReplacements = 68;

constexpr bool stands_for_itself(int byte) {
  return (byte >= '!' && byte <= '~') || (byte >= 0xA1 && byte <= 0xAC) || byte >= 0xAE;
}

struct Alphabet {
  std::array<std::uint16_t, 256> character{};
  std::array<std::int16_t, kFirstReplacement + kReplacements> byte{};  // -1 where a character stands for none
  std::array<std::uint8_t, 256> order{};
};

constexpr Alphabet make_alphabet() {
  Alphabet alphabet;
  for (std::int16_t& byte : alphabet.byte) byte = -1;
  int own = 0;
  for (int byte = 0; byte < 256; ++byte) {
    if (stands_for_itself(byte)) alphabet.order[own++] = static_cast<std::uint8_t>(byte);
  }
  int replaced = 0;
  for (int byte = 0; byte < 256; ++byte) {
    int character = byte;
    if (!stands_for_itself(byte)) {
      alphabet.order[own + replaced] = static_cast<std::uint8_t>(byte);
      character = kFirstReplacement + replaced++;
    }
    alphabet.character[byte] = static_cast<std::uint16_t>(character);
    alphabet.byte[character] = static_cast<std::int16_t>(byte);
  }
  return alphabet;
}

constexpr Alphabet kAlphabet = make_alphabet();

}  // namespace

const std::array<std::uint8_t, 256>& bytes_in_vocabulary_order() {
  return kAlphabet.order;
}

std::string spell_bytes(std::string_view bytes) {
  std::string spelling;
  spelling.reserve(bytes.size() * 2);
  for (const char each : bytes) {
    const std::uint16_t character = kAlphabet.character[static_cast<std::uint8_t>(each)];
    if (character < 0x80) {
      spelling += static_cast<char>(character);
    } else {
      spelling += static_cast<char>(0xC0 | (character >> 6));
      spelling += static_cast<char>(0x80 | (character & 0x3F));
    }
  }
  return spelling;
}

std::optional<std::string> unspell_bytes(std::string_view spelling) {
  std::string bytes;
  bytes.reserve(spelling.size());
  for (std::size_t at = 0; at < spelling.size(); ++at) {
    unsigned character = static_cast<std::uint8_t>(spelling[at]);
    if (character >= 0x80) {
      if ((character & 0xE0) != 0xC0 || at + 1 == spelling.size()) return std::nullopt;
      const unsigned second = static_cast<std::uint8_t>(spelling[++at]);
      if ((second & 0xC0) != 0x80) return std::nullopt;
      character = (character & 0x1F) << 6 | (second & 0x3F);
      if (character < 0x80) return std::nullopt;
    }
    if (character >= kAlphabet.byte.size() || kAlphabet.byte[character] < 0) return std::nullopt;
    bytes += static_cast<char>(kAlphabet.byte[character]);
  }
  return bytes;
}

}  // namespace crope::text
