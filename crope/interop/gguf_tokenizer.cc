#include "crope/interop/gguf_tokenizer.h"

#include <fmt/format.h>

#include <set>

#include "crope/base/error.h"
#include "crope/base/file.h"
#include "crope/base/json.h"
#include "crope/text/byte_alphabet.h"
#include "crope/text/tokenizer.h"
#include "crope/text/tokenizer_json.h"

namespace crope::interop {
namespace fs = std::filesystem;
namespace {

// Numbers of llama.cpp.
enum TokenKind : std::int32_t { kNormalToken = 1, kControlToken = 3, kUserToken = 4, kUnusedToken = 5 };

std::optional<text::Vocabulary> read_vocabulary(const fs::path& path, Log& log) {
  constexpr const char* kMeaning = "the file will have no vocabulary, and programs that read it can only use token ids";
  if (!fs::exists(path)) {
    log.warn(fmt::format("{} does not exist: {}", path.string(), kMeaning));
    return std::nullopt;
  }
  try {
    return text::read_tokenizer_json(path);
  } catch (const Error& e) {
    log.warn(fmt::format("{}: {}", e.what(), kMeaning));
    return std::nullopt;
  }
}

// Ids of added tokens that are ordinary text to a reader: a tokenizer.json says "special": false.
std::set<std::int64_t> visible_added_tokens(const fs::path& path) {
  std::set<std::int64_t> visible;
  const SortedJson json = parse_sorted_json(read_file(path), path.string());
  for (const SortedJson& token : json.value("added_tokens", SortedJson::array())) {
    if (token.value("special", SortedJson(true)) == false) visible.insert(token["id"].get<std::int64_t>());
  }
  return visible;
}

struct TokenTable {
  std::vector<std::string> spellings;
  std::vector<std::int32_t> kinds;
};

TokenTable spell_tokens(const text::Vocabulary& vocabulary, const std::set<std::int64_t>& visible, std::size_t rows) {
  TokenTable table;
  for (const std::string& bytes : vocabulary.tokens) table.spellings.push_back(text::spell_bytes(bytes));
  table.kinds.assign(vocabulary.tokens.size(), kNormalToken);
  for (const text::SpecialToken& special : vocabulary.special_tokens) {
    const auto id = static_cast<std::size_t>(special.id);
    table.spellings[id] = special.content;
    table.kinds[id] = visible.contains(special.id) ? kUserToken : kControlToken;
  }
  // llama.cpp stops at two tokens of one spelling.
  const std::set<std::string> used(table.spellings.begin(), table.spellings.end());
  while (table.spellings.size() < rows) {
    std::string name = fmt::format("[PAD{}]", table.spellings.size());
    while (used.contains(name)) name += '_';
    table.spellings.push_back(std::move(name));
    table.kinds.push_back(kUnusedToken);
  }
  return table;
}

// The id that config.json gives, else <|endoftext|>.
std::optional<std::uint32_t> special_id(const model::ModelConfig& config, const char* key,
                                        const text::Vocabulary& vocabulary) {
  auto configured = config.other_keys.value(key, Json());
  if (configured.is_array() && !configured.empty()) configured = Json(configured[0]);
  if (configured.is_number_integer()) {
    const auto id = configured.get<std::int64_t>();
    if (id >= 0 && id < config.vocab_size) return static_cast<std::uint32_t>(id);
  }
  for (const text::SpecialToken& special : vocabulary.special_tokens) {
    if (special.content == text::kEndOfText) return static_cast<std::uint32_t>(special.id);
  }
  return std::nullopt;
}

}  // namespace

formats::GgufMetadata gguf_tokenizer_keys(const fs::path& model_dir, const model::ModelConfig& config, Log& log) {
  const fs::path path = model_dir / text::kTokenizerFile;
  const std::optional<text::Vocabulary> vocabulary = read_vocabulary(path, log);
  if (!vocabulary) return {{"tokenizer.ggml.model", std::string("no_vocab")}};
  const auto rows = static_cast<std::size_t>(config.vocab_size);
  if (vocabulary->tokens.size() > rows) {
    throw Error(fmt::format("{} has {} tokens, the model only {}", path.string(), vocabulary->tokens.size(), rows),
                "they do not belong together");
  }
  TokenTable table = spell_tokens(*vocabulary, visible_added_tokens(path), rows);
  std::vector<std::string> merges;
  for (const text::Merge& merge : vocabulary->merges) {
    merges.push_back(table.spellings[static_cast<std::size_t>(merge.left)] + " " +
                     table.spellings[static_cast<std::size_t>(merge.right)]);
  }
  formats::GgufMetadata keys = {{"tokenizer.ggml.model", std::string("gpt2")},
                                {"tokenizer.ggml.pre", std::string("gpt-2")},
                                {"tokenizer.ggml.tokens", std::move(table.spellings)},
                                {"tokenizer.ggml.token_type", std::move(table.kinds)},
                                {"tokenizer.ggml.merges", std::move(merges)}};
  const auto begin = special_id(config, "bos_token_id", *vocabulary);
  const auto end = special_id(config, "eos_token_id", *vocabulary);
  if (begin) keys.emplace_back("tokenizer.ggml.bos_token_id", *begin);
  if (end) keys.emplace_back("tokenizer.ggml.eos_token_id", *end);
  if (!end) {
    log.warn(fmt::format("{} has no {}: llama.cpp will end texts at a token of its own choice", path.string(),
                         text::kEndOfText));
  }
  keys.emplace_back("tokenizer.ggml.add_bos_token", false);
  return keys;
}

}  // namespace crope::interop
