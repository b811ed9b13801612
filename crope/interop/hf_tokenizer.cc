#include "crope/interop/hf_tokenizer.h"

#include <fmt/format.h>

#include "crope/base/error.h"
#include "crope/base/file.h"
#include "crope/model/language_model.h"
#include "crope/text/sentence_piece_model.h"
#include "crope/text/tokenizer.h"
#include "crope/text/tokenizer_json.h"

namespace crope::interop {
namespace {

constexpr const char* kEndOfText = "<|endoftext|>";

std::optional<std::int64_t> find_special(const SortedJson& tokenizer, const std::string& content) {
  const auto tokens = tokenizer.find("added_tokens");
  if (tokens == tokenizer.end() || !tokens->is_array()) return std::nullopt;
  for (const SortedJson& token : *tokens) {
    if (!token.is_object() || token.value("content", SortedJson()) != content) continue;
    const SortedJson id = token.value("id", SortedJson());
    if (id.is_number_integer()) return id.get<std::int64_t>();
  }
  return std::nullopt;
}

// The text of the token that config.json names under `key`; "" if it names none, or the tokenizer has no such special
// token.
std::string configured_token(const SortedJson& tokenizer, const model::ModelConfig& config, const std::string& key) {
  Json id = config.other_keys.value(key, Json());
  if (id.is_array() && !id.empty()) id = Json(id[0]);
  const auto tokens = tokenizer.find("added_tokens");
  if (!id.is_number_integer() || tokens == tokenizer.end() || !tokens->is_array()) return {};
  for (const SortedJson& token : *tokens) {
    if (!token.is_object() || !token.contains("id") || token["id"] != id.get<std::int64_t>()) continue;
    const SortedJson content = token.value("content", SortedJson());
    if (content.is_string()) return content.get<std::string>();
  }
  return {};
}

constexpr const char* kTokenizerConfigFile = "tokenizer_config.json";

// The model's chat template: a file of its own, or a field of tokenizer_config.json. "" if there is none.
std::string find_chat_template(const std::filesystem::path& dir) {
  if (std::filesystem::exists(dir / model::kChatTemplateFile)) return read_file(dir / model::kChatTemplateFile);
  const std::filesystem::path config = dir / kTokenizerConfigFile;
  if (!std::filesystem::exists(config)) return {};
  const SortedJson json = parse_sorted_json(read_file(config), config.string());
  const auto found = json.is_object() ? json.find("chat_template") : json.end();
  return found != json.end() && found->is_string() ? found->get<std::string>() : std::string();
}

}  // namespace

void import_hf_text_files(const std::filesystem::path& hf_dir, const std::filesystem::path& out,
                          std::int64_t max_seq_len, Log& log) {
  if (std::filesystem::exists(hf_dir / text::kTokenizerFile)) {
    write_file(out / text::kTokenizerFile, read_file(hf_dir / text::kTokenizerFile));
  } else if (std::filesystem::exists(hf_dir / text::kSentencePieceFile)) {
    const text::Vocabulary vocabulary = text::read_sentence_piece_model(hf_dir / text::kSentencePieceFile);
    text::write_tokenizer_files(out, vocabulary, {.model_max_length = static_cast<int>(max_seq_len)});
  } else {
    log.warn(fmt::format("{} has neither {} nor {}: the model reads and writes token ids only", hf_dir.string(),
                         text::kTokenizerFile, text::kSentencePieceFile));
  }
  if (const std::string chat = find_chat_template(hf_dir); !chat.empty())
    write_file(out / model::kChatTemplateFile, chat);
}

SpecialTokens copy_tokenizer(const std::filesystem::path& tokenizer_json, const std::filesystem::path& out,
                             const model::ModelConfig& model_config) {
  const SortedJson tokenizer = parse_sorted_json(read_file(tokenizer_json), tokenizer_json.string());
  if (!tokenizer.is_object() || !tokenizer.contains("model")) {
    throw Error(fmt::format("{}: not a tokenizer: there is no 'model'", tokenizer_json.string()));
  }
  write_file(out / text::kTokenizerFile, read_file(tokenizer_json));
  // Said outright: transformers would otherwise take the tokenizer class of Qwen.
  Json config = {{"tokenizer_class", "PreTrainedTokenizerFast"},
                 {"add_bos_token", false},
                 {"clean_up_tokenization_spaces", false},
                 {"model_max_length", model_config.max_seq_len}};
  const SpecialTokens special{.end_of_text = find_special(tokenizer, kEndOfText)};
  for (const char* role : {"bos_token", "eos_token", "unk_token", "pad_token"}) {
    const std::string chosen = configured_token(tokenizer, model_config, fmt::format("{}_id", role));
    if (!chosen.empty()) {
      config[role] = chosen;
    } else if (special.end_of_text) {
      config[role] = kEndOfText;
    }
  }
  // What a conversation looks like comes along.
  const std::string chat = find_chat_template(tokenizer_json.parent_path());
  if (!chat.empty()) write_file(out / model::kChatTemplateFile, chat);
  write_json(out / kTokenizerConfigFile, config);
  return special;
}

}  // namespace crope::interop
