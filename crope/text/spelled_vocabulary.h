// A vocabulary as files have it: tokens spelled in GPT-2's byte alphabet, ids and merges not yet checked.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "crope/base/json.h"
#include "crope/text/vocabulary.h"

namespace crope::text {

struct SpelledVocabulary {
  std::string origin;  // what messages call the file
  std::vector<std::pair<std::string, std::int64_t>> tokens;
  std::vector<SpecialToken> special_tokens;  // not spelled: their text is what it is
  std::vector<std::pair<std::string, std::string>> merges;
};

// Parses a JSON file and takes the members of the object at `path` out of it into `members`: a Json object searches a
// key from its first member on, which is too slow for a vocabulary. Throws Error if one of them is not a whole number.
Json parse_with_vocabulary(const std::filesystem::path& file, const std::vector<std::string>& path,
                           std::vector<std::pair<std::string, std::int64_t>>& members);

// The two tokens of "a b", merge number `rank`. Throws Error if that is not two tokens.
std::pair<std::string, std::string> split_merge(std::string_view line, std::string_view origin, std::size_t rank);

// Throws Error unless the ids are 0, 1, …, n - 1, each once, the tokens of all merges are there, and
// Vocabulary::check() passes.
Vocabulary unspell(const SpelledVocabulary& spelled);

}  // namespace crope::text
