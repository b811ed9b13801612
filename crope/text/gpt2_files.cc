#include "crope/text/gpt2_files.h"

#include <fmt/format.h>

#include <algorithm>
#include <string>
#include <string_view>

#include "crope/base/error.h"
#include "crope/base/file.h"
#include "crope/text/spelled_vocabulary.h"

namespace crope::text {
namespace {

namespace fs = std::filesystem;

constexpr std::uint64_t kLargestMergesFile = std::uint64_t{1} << 28;

}  // namespace

Vocabulary read_gpt2_files(const fs::path& encoder_json, const fs::path& vocab_bpe) {
  SpelledVocabulary spelled{.origin = encoder_json.string(), .tokens = {}, .special_tokens = {}, .merges = {}};
  const Json root = parse_with_vocabulary(encoder_json, {}, spelled.tokens);
  if (!root.is_object()) throw Error(fmt::format("{}: expected an object of tokens and ids", spelled.origin));
  for (const auto& [name, id] : spelled.tokens) {
    if (name == kEndOfText && id >= 0 && id <= INT32_MAX) {
      spelled.special_tokens.push_back({name, static_cast<std::int32_t>(id)});
    }
  }
  const std::string text = read_file(vocab_bpe, kLargestMergesFile);
  std::string_view rest = text;
  if (rest.starts_with("#version")) rest.remove_prefix(std::min(rest.find('\n'), rest.size() - 1) + 1);
  while (!rest.empty()) {
    const std::size_t end = std::min(rest.find('\n'), rest.size());
    std::string_view line = rest.substr(0, end);
    if (line.ends_with('\r')) line.remove_suffix(1);
    if (!line.empty()) spelled.merges.push_back(split_merge(line, vocab_bpe.string(), spelled.merges.size()));
    rest.remove_prefix(std::min(end + 1, rest.size()));
  }
  return unspell(spelled);
}

}  // namespace crope::text
