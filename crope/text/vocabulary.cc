#include "crope/text/vocabulary.h"

#include <fmt/format.h>

#include <array>
#include <bit>
#include <cmath>
#include <set>
#include <unordered_map>
#include <utility>

#include "crope/base/content_hash.h"
#include "crope/base/error.h"
#include "crope/text/byte_alphabet.h"
#include "crope/text/char_class.h"

namespace crope::text {
namespace {

constexpr std::size_t kMostTokens = std::size_t{1} << 28;

// Every string goes in behind its length, so that no two lists look alike.
class ListHash {
 public:
  void add(std::uint64_t number) {
    std::string bytes;
    for (int shift = 0; shift < 64; shift += 8) bytes += static_cast<char>(number >> shift);
    value_ = fnv1a(bytes, value_);
  }
  void add(std::string_view text) {
    add(text.size());
    value_ = fnv1a(text, value_);
  }
  std::uint64_t value() const { return value_; }

 private:
  std::uint64_t value_ = fnv1a("");
};

bool is_utf8(std::string_view text) {
  const char* const end = text.data() + text.size();
  for (const char* at = text.data(); at < end;) {
    const Char next = char_at(at, end);
    if (next.char_class == CharClass::invalid) return false;
    at += next.length;
  }
  return true;
}

void check_tokens(const Vocabulary& vocabulary, std::string_view origin) {
  const auto& tokens = vocabulary.tokens;
  if (tokens.size() > kMostTokens) throw Error(fmt::format("{}: {} tokens are too many", origin, tokens.size()));
  std::unordered_map<std::string_view, std::size_t> seen;
  std::array<bool, 256> has_byte{};
  for (std::size_t id = 0; id < tokens.size(); ++id) {
    if (tokens[id].empty()) throw Error(fmt::format("{}: token {} is empty", origin, id));
    const auto [place, is_new] = seen.emplace(tokens[id], id);
    if (!is_new) {
      throw Error(
          fmt::format("{}: tokens {} and {} are both '{}'", origin, place->second, id, spell_bytes(tokens[id])));
    }
    if (tokens[id].size() == 1) has_byte[static_cast<std::uint8_t>(tokens[id][0])] = true;
  }
  for (int byte = ' '; byte <= '~'; ++byte) {
    if (has_byte[byte]) continue;
    throw Error(fmt::format("{}: no token for the byte 0x{:02X} ('{}')", origin, byte,
                            spell_bytes(std::string(1, static_cast<char>(byte)))),
                "a byte-level vocabulary holds all printable bytes of ASCII");
  }
}

void check_pieces(const Vocabulary& vocabulary, std::string_view origin) {
  const SentencePieces& pieces = *vocabulary.pieces;
  const auto& tokens = vocabulary.tokens;
  if (tokens.size() > kMostTokens) throw Error(fmt::format("{}: {} tokens are too many", origin, tokens.size()));
  if (pieces.scores.size() != tokens.size()) {
    throw Error(fmt::format("{}: {} tokens have {} scores", origin, tokens.size(), pieces.scores.size()));
  }
  for (std::size_t id = 0; id < tokens.size(); ++id) {
    if (tokens[id].empty()) throw Error(fmt::format("{}: token {} is empty", origin, id));
    if (std::isnan(pieces.scores[id])) throw Error(fmt::format("{}: the score of token {} is NaN", origin, id));
  }
  for (std::size_t byte = 0; byte < 256; ++byte) {
    const std::int64_t id = byte < pieces.byte_tokens.size() ? pieces.byte_tokens[byte] : -1;
    const bool exists = id >= 0 && static_cast<std::size_t>(id) < tokens.size();
    if (exists && tokens[static_cast<std::size_t>(id)] == std::string(1, static_cast<char>(byte))) continue;
    throw Error(fmt::format("{}: no token <0x{:02X}> for the byte", origin, byte),
                "a SentencePiece vocabulary needs its 256 byte tokens (trained with byte_fallback)");
  }
}

void check_merges(const Vocabulary& vocabulary, std::string_view origin) {
  const auto size = static_cast<std::int64_t>(vocabulary.tokens.size());
  std::set<std::pair<std::int32_t, std::int32_t>> seen;
  for (std::size_t rank = 0; rank < vocabulary.merges.size(); ++rank) {
    const auto& [left, right, result] = vocabulary.merges[rank];
    for (const std::int32_t id : {left, right, result}) {
      if (id < 0 || id >= size) {
        throw Error(fmt::format("{}: merge {} names token {}, outside the vocabulary of {}", origin, rank, id, size));
      }
    }
    const std::string& a = vocabulary.tokens[left];
    const std::string& b = vocabulary.tokens[right];
    if (a + b != vocabulary.tokens[result]) {
      throw Error(fmt::format("{}: merge {} ('{} {}') gives '{}'", origin, rank, spell_bytes(a), spell_bytes(b),
                              spell_bytes(vocabulary.tokens[result])));
    }
    if (!seen.emplace(left, right).second) {
      throw Error(fmt::format("{}: merge {} ('{} {}') appears twice", origin, rank, spell_bytes(a), spell_bytes(b)));
    }
  }
}

void check_special_tokens(const Vocabulary& vocabulary, std::string_view origin) {
  std::set<std::string_view> contents;
  std::set<std::int32_t> ids;
  for (const auto& [content, id] : vocabulary.special_tokens) {
    if (content.empty()) throw Error(fmt::format("{}: special token {} is empty", origin, id));
    if (!is_utf8(content)) throw Error(fmt::format("{}: special token {} is not valid UTF-8", origin, id));
    if (!contents.insert(content).second || !ids.insert(id).second) {
      throw Error(fmt::format("{}: special token '{}' ({}) appears twice", origin, content, id));
    }
    if (id < 0 || static_cast<std::size_t>(id) >= vocabulary.tokens.size() || vocabulary.tokens[id] != content) {
      throw Error(fmt::format("{}: special token '{}' has the id {}, which is not its place in the vocabulary of {}",
                              origin, content, id, vocabulary.tokens.size()));
    }
  }
}

}  // namespace

void Vocabulary::check(std::string_view origin) const {
  check_special_tokens(*this, origin);
  if (pieces) return check_pieces(*this, origin);
  check_tokens(*this, origin);
  check_merges(*this, origin);
}

std::string Vocabulary::fingerprint() const {
  ListHash hash;
  hash.add(tokens.size());
  for (const std::string& token : tokens) hash.add(token);
  hash.add(merges.size());
  for (const Merge& merge : merges) {
    hash.add(static_cast<std::uint64_t>(merge.left));
    hash.add(static_cast<std::uint64_t>(merge.right));
  }
  hash.add(special_tokens.size());
  for (const SpecialToken& special : special_tokens) {
    hash.add(special.content);
    hash.add(static_cast<std::uint64_t>(special.id));
  }
  if (split != WordSplit::gpt2 || whole_words_first || compose) {
    hash.add(static_cast<std::uint64_t>(split));
    hash.add(static_cast<std::uint64_t>(whole_words_first) + 2 * static_cast<std::uint64_t>(compose));
  }
  if (pieces) {
    for (const float score : pieces->scores) hash.add(std::bit_cast<std::uint32_t>(score));
    hash.add(static_cast<std::uint64_t>(pieces->add_space_prefix));
  }
  return fmt::format("{:016x}", hash.value());
}

}  // namespace crope::text
