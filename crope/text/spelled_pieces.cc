#include "crope/text/spelled_pieces.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <numeric>
#include <set>
#include <unordered_map>

#include "crope/base/error.h"
#include "crope/text/sentence_piece.h"

namespace crope::text {
namespace {

// Tokens that are not the result of a merge come last and never join by themselves.
constexpr float kNoMergeScore = -1e9f;

bool is_byte_token(const Vocabulary& vocabulary, std::size_t id) {
  const std::string& token = vocabulary.tokens[id];
  return token.size() == 1 &&
         vocabulary.pieces->byte_tokens[static_cast<std::uint8_t>(token[0])] == static_cast<std::int32_t>(id);
}

}  // namespace

std::optional<std::uint8_t> byte_of_piece(std::string_view spelling) {
  if (spelling.size() != 6 || !spelling.starts_with("<0x") || spelling.back() != '>') return std::nullopt;
  std::uint8_t byte = 0;
  const char* const end = spelling.data() + 5;
  const auto [stop, error] = std::from_chars(spelling.data() + 3, end, byte, 16);
  return error == std::errc() && stop == end ? std::optional(byte) : std::nullopt;
}

std::string spell_piece(const Vocabulary& vocabulary, std::size_t id) {
  const std::string& token = vocabulary.tokens[id];
  if (is_byte_token(vocabulary, id)) return fmt::format("<0x{:02X}>", static_cast<std::uint8_t>(token[0]));
  return spaces_to_marks(token);
}

std::vector<std::pair<std::string, std::string>> piece_merges(const Vocabulary& vocabulary) {
  std::set<std::int32_t> special;
  for (const SpecialToken& token : vocabulary.special_tokens) special.insert(token.id);
  std::unordered_map<std::string_view, std::size_t> ids;
  std::vector<std::size_t> order;
  for (std::size_t id = 0; id < vocabulary.tokens.size(); ++id) {
    if (special.contains(static_cast<std::int32_t>(id)) || is_byte_token(vocabulary, id)) continue;
    ids.emplace(vocabulary.tokens[id], id);
    order.push_back(id);
  }
  const std::vector<float>& scores = vocabulary.pieces->scores;
  std::ranges::stable_sort(order, [&](std::size_t a, std::size_t b) { return scores[a] > scores[b]; });
  std::vector<std::pair<std::string, std::string>> merges;
  for (const std::size_t id : order) {
    const std::string_view token = vocabulary.tokens[id];
    for (std::size_t cut = 1; cut < token.size(); ++cut) {
      const auto left = ids.find(token.substr(0, cut)), right = ids.find(token.substr(cut));
      if (left == ids.end() || right == ids.end()) continue;
      merges.emplace_back(spell_piece(vocabulary, left->second), spell_piece(vocabulary, right->second));
    }
  }
  return merges;
}

Vocabulary unspell_pieces(const SpelledVocabulary& spelled, bool add_space_prefix) {
  const std::string& origin = spelled.origin;
  std::unordered_map<std::string_view, std::int64_t> ids;
  for (const auto& [name, id] : spelled.tokens) {
    if (!ids.emplace(name, id).second) throw Error(fmt::format("{}: the token '{}' appears twice", origin, name));
  }
  for (const auto& [content, id] : spelled.special_tokens) {
    const auto [place, is_new] = ids.emplace(content, id);
    if (!is_new && place->second != id) {
      throw Error(fmt::format("{}: '{}' has the id {} in model.vocab and {} in added_tokens", origin, content,
                              place->second, id));
    }
  }
  Vocabulary vocabulary{.special_tokens = spelled.special_tokens, .pieces = SentencePieces{}};
  SentencePieces& pieces = *vocabulary.pieces;
  pieces.add_space_prefix = add_space_prefix;
  pieces.byte_tokens.assign(256, -1);
  pieces.scores.assign(ids.size(), kNoMergeScore);
  vocabulary.tokens.resize(ids.size());
  std::set<std::string_view> special;
  for (const SpecialToken& token : spelled.special_tokens) special.insert(token.content);
  for (const auto& [name, id] : ids) {
    if (id < 0 || static_cast<std::size_t>(id) >= ids.size() ||
        !vocabulary.tokens[static_cast<std::size_t>(id)].empty()) {
      throw Error(fmt::format("{}: token '{}' has the id {}; ids must be 0 to {}, each once", origin, name, id,
                              ids.size() - 1));
    }
    std::string& token = vocabulary.tokens[static_cast<std::size_t>(id)];
    if (special.contains(name)) {
      token = name;
    } else if (const auto byte = byte_of_piece(name)) {
      token = static_cast<char>(*byte);
      pieces.byte_tokens[*byte] = static_cast<std::int32_t>(id);
    } else {
      token = marks_to_spaces(name);
    }
  }
  for (std::size_t rank = 0; rank < spelled.merges.size(); ++rank) {
    const auto& [left, right] = spelled.merges[rank];
    const auto result = ids.find(left + right);
    if (!ids.contains(left) || !ids.contains(right) || result == ids.end()) {
      throw Error(fmt::format("{}: merge {} ('{} {}') names a token that the vocabulary does not have", origin, rank,
                              left, right));
    }
    float& score = pieces.scores[static_cast<std::size_t>(result->second)];
    if (score == kNoMergeScore) score = -static_cast<float>(rank);
  }
  vocabulary.check(origin);
  return vocabulary;
}

}  // namespace crope::text
