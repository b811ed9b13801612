#include "crope/interop/gguf_tokenizer.h"

#include <fmt/format.h>

#include <set>

#include "crope/base/error.h"
#include "crope/base/file.h"
#include "crope/base/json.h"
#include "crope/interop/gguf_vocabulary.h"
#include "crope/model/language_model.h"
#include "crope/text/byte_alphabet.h"
#include "crope/text/spelled_pieces.h"
#include "crope/text/tokenizer.h"
#include "crope/text/tokenizer_json.h"

namespace crope::interop {
namespace fs = std::filesystem;
namespace {

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
  for (std::size_t id = 0; id < vocabulary.tokens.size(); ++id) {
    table.spellings.push_back(vocabulary.pieces ? text::spell_piece(vocabulary, id)
                                                : text::spell_bytes(vocabulary.tokens[id]));
  }
  table.kinds.assign(vocabulary.tokens.size(), kNormalToken);
  if (vocabulary.pieces) {
    for (const std::int32_t id : vocabulary.pieces->byte_tokens) table.kinds[static_cast<std::size_t>(id)] = kByteToken;
  }
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
  formats::GgufMetadata keys;
  if (vocabulary->pieces) {
    std::vector<float> scores = vocabulary->pieces->scores;
    scores.resize(rows, 0);
    keys.emplace_back("tokenizer.ggml.model", std::string("llama"));
    keys.emplace_back("tokenizer.ggml.pre", std::string("default"));
    keys.emplace_back("tokenizer.ggml.scores", std::move(scores));
    keys.emplace_back("tokenizer.ggml.add_space_prefix", vocabulary->pieces->add_space_prefix);
  } else {
    std::vector<std::string> merges;
    for (const text::Merge& merge : vocabulary->merges) {
      merges.push_back(table.spellings[static_cast<std::size_t>(merge.left)] + " " +
                       table.spellings[static_cast<std::size_t>(merge.right)]);
    }
    keys.emplace_back("tokenizer.ggml.model", std::string("gpt2"));
    keys.emplace_back("tokenizer.ggml.pre", std::string(gguf_split_name(vocabulary->split)));
    keys.emplace_back("tokenizer.ggml.merges", std::move(merges));
  }
  keys.emplace_back("tokenizer.ggml.tokens", std::move(table.spellings));
  keys.emplace_back("tokenizer.ggml.token_type", std::move(table.kinds));
  const auto begin = special_id(config, "bos_token_id", *vocabulary);
  const auto end = special_id(config, "eos_token_id", *vocabulary);
  if (begin) keys.emplace_back("tokenizer.ggml.bos_token_id", *begin);
  if (end) keys.emplace_back("tokenizer.ggml.eos_token_id", *end);
  if (!end) {
    log.warn(fmt::format("{} has no {}: llama.cpp will end texts at a token of its own choice", path.string(),
                         text::kEndOfText));
  }
  keys.emplace_back("tokenizer.ggml.add_bos_token", false);
  if (const fs::path chat = model_dir / model::kChatTemplateFile; fs::exists(chat)) {
    keys.emplace_back("tokenizer.chat_template", read_file(chat));
  }
  return keys;
}

}  // namespace crope::interop
