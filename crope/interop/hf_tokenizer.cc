#include "crope/interop/hf_tokenizer.h"

#include <fmt/format.h>

#include "crope/base/error.h"
#include "crope/base/file.h"
#include "crope/text/tokenizer.h"

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

}  // namespace

SpecialTokens copy_tokenizer(const std::filesystem::path& tokenizer_json, const std::filesystem::path& out,
                             std::int64_t max_seq_len) {
  const SortedJson tokenizer = parse_sorted_json(read_file(tokenizer_json), tokenizer_json.string());
  if (!tokenizer.is_object() || !tokenizer.contains("model")) {
    throw Error(fmt::format("{}: not a tokenizer: there is no 'model'", tokenizer_json.string()));
  }
  write_file(out / text::kTokenizerFile, read_file(tokenizer_json));
  // Said outright: transformers would otherwise take the tokenizer class of Qwen.
  Json config = {{"tokenizer_class", "PreTrainedTokenizerFast"},
                 {"add_bos_token", false},
                 {"clean_up_tokenization_spaces", false},
                 {"model_max_length", max_seq_len}};
  const SpecialTokens special{.end_of_text = find_special(tokenizer, kEndOfText)};
  if (special.end_of_text) {
    for (const char* role : {"bos_token", "eos_token", "unk_token", "pad_token"}) config[role] = kEndOfText;
  }
  write_json(out / "tokenizer_config.json", config);
  return special;
}

}  // namespace crope::interop
