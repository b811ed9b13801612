#include "crope/text/spelled_vocabulary.h"

#include <fmt/format.h>

#include <optional>
#include <unordered_map>
#include <utility>

#include "crope/base/error.h"
#include "crope/base/file.h"
#include "crope/base/json_fields.h"
#include "crope/text/byte_alphabet.h"

namespace crope::text {
namespace {

namespace fs = std::filesystem;

constexpr std::uint64_t kLargestVocabularyFile = std::uint64_t{1} << 28;

// Ids must be 0, 1, …, n - 1, each once.
class TokenList {
 public:
  TokenList(const std::string& origin, std::size_t count) : origin_(origin), tokens_(count) {}

  void set(std::int64_t id, std::string_view name, std::string bytes) {
    if (id < 0 || static_cast<std::uint64_t>(id) >= tokens_.size()) {
      throw Error(fmt::format("{}: token '{}' has the id {}, but there are {} tokens: ids must run from 0 to {}",
                              origin_, name, id, tokens_.size(), tokens_.size() - 1));
    }
    if (tokens_[id].has_value()) throw Error(fmt::format("{}: two tokens have the id {} ('{}')", origin_, id, name));
    tokens_[id] = std::move(bytes);
  }

  // With as many tokens as ids, none twice, there are no holes.
  std::vector<std::string> take() {
    std::vector<std::string> tokens;
    for (std::optional<std::string>& token : tokens_) tokens.push_back(std::move(token).value());
    return tokens;
  }

 private:
  const std::string& origin_;
  std::vector<std::optional<std::string>> tokens_;
};

}  // namespace

Json parse_with_vocabulary(const fs::path& file, const std::vector<std::string>& path,
                           std::vector<std::pair<std::string, std::int64_t>>& members) {
  const auto take = [&](std::string key, const Json& value) {
    if (!value.is_number_integer()) {
      throw Error(fmt::format("{}: token '{}' has no whole number for its id", file.string(), key));
    }
    members.emplace_back(std::move(key), value.get<std::int64_t>());
  };
  Json rest = parse_json_members(read_file(file, kLargestVocabularyFile), file.string(), path, take);
  if (!rest.is_object()) throw Error(fmt::format("{}: {}", file.string(), expected_found("an object", &rest)));
  return rest;
}

std::pair<std::string, std::string> split_merge(std::string_view line, std::string_view origin, std::size_t rank) {
  const std::size_t space = line.find(' ');
  if (space == 0 || space == std::string_view::npos || space + 1 == line.size() ||
      line.find(' ', space + 1) != std::string_view::npos) {
    throw Error(fmt::format("{}: merge {} is '{}', expected two tokens with a space between them", origin, rank, line));
  }
  return {std::string(line.substr(0, space)), std::string(line.substr(space + 1))};
}

Vocabulary unspell(const SpelledVocabulary& spelled) {
  const std::string& origin = spelled.origin;
  std::unordered_map<std::string_view, std::int64_t> ids;
  for (const auto& [name, id] : spelled.tokens) {
    if (!ids.emplace(name, id).second) throw Error(fmt::format("{}: the token '{}' appears twice", origin, name));
  }
  std::unordered_map<std::string_view, std::int64_t> special_ids;
  std::size_t count = spelled.tokens.size();
  for (const auto& [content, id] : spelled.special_tokens) {
    if (!special_ids.emplace(content, id).second) {
      throw Error(fmt::format("{}: added_tokens has '{}' twice", origin, content));
    }
    const auto place = ids.find(content);
    if (place == ids.end()) {
      ++count;
    } else if (place->second != id) {
      throw Error(fmt::format("{}: '{}' has the id {} in model.vocab and {} in added_tokens", origin, content,
                              place->second, id));
    }
  }

  TokenList tokens(origin, count);
  for (const auto& [content, id] : spelled.special_tokens) tokens.set(id, content, content);
  for (const auto& [name, id] : spelled.tokens) {
    if (special_ids.contains(name)) continue;
    std::optional<std::string> bytes = unspell_bytes(name);
    if (!bytes) {
      throw Error(fmt::format("{}: the token '{}' is not spelled in GPT-2's byte alphabet", origin, name),
                  "only byte-level BPE is supported");
    }
    tokens.set(id, name, std::move(*bytes));
  }

  Vocabulary vocabulary{.tokens = tokens.take(), .merges = {}, .special_tokens = spelled.special_tokens};
  for (const std::pair<std::string, std::string>& merge : spelled.merges) {
    const auto id_of = [&](const std::string& name) {
      const auto place = ids.find(name);
      if (place == ids.end()) {
        throw Error(fmt::format("{}: merge {} ('{} {}') needs the token '{}', which the vocabulary does not have",
                                origin, vocabulary.merges.size(), merge.first, merge.second, name));
      }
      return static_cast<std::int32_t>(place->second);
    };
    vocabulary.merges.push_back({id_of(merge.first), id_of(merge.second), id_of(merge.first + merge.second)});
  }
  vocabulary.check(origin);
  return vocabulary;
}

}  // namespace crope::text
