// A model with everything that a program needs to use it on text: tokenizer, begin and end tokens, window.
// Every command and the server load models here.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "crope/base/log.h"
#include "crope/model/quantise.h"
#include "crope/model/transformer.h"
#include "crope/model/weight_type.h"
#include "crope/text/tokenizer.h"

namespace crope::model {

// A model's own way to write conversations, in the language of Hugging Face's tokenizers (Jinja).
inline constexpr const char* kChatTemplateFile = "chat_template.jinja";

struct LanguageModel {
  Transformer model;
  std::optional<text::Tokenizer> tokenizer;
  std::vector<std::int32_t> end_tokens;     // each of them ends a text; the first is the one that is named
  std::optional<std::int32_t> begin_token;  // starts a text
  // Stands where a text has nothing before it and something must be read: config.json's bos_token_id, else its
  // eos_token_id, else <|endoftext|>.
  std::optional<std::int32_t> prefix_token = {};
  std::string chat_template = {};  // the text of kChatTemplateFile; "" if there is none
  std::filesystem::path dir;       // as the caller named it: a model or a run directory

  // Null if there is no tokenizer.
  const text::Tokenizer* tokenizer_or_null() const { return tokenizer ? &*tokenizer : nullptr; }

  // Throws UsageError if there is no tokenizer.
  const text::Tokenizer& require_tokenizer() const;

  // The ids of a text. Throws UsageError, starting with `origin`, if it is not UTF-8 or there is no tokenizer.
  std::vector<std::int32_t> encode(std::string_view text, std::string_view origin) const;

  // The longest sequence.
  std::int64_t window() const { return model.config.max_seq_len; }
};

// Loads a model directory, or the newest checkpoint of a run directory, to be used with weights of `type` on `device`;
// without a type in the one that it records, which is fp32 unless it was quantised. Off the CPU quantised weights are
// widened. config.json names the begin and end tokens (bos_token_id, eos_token_id); without them <|endoftext|> is both.
// Throws Error if a file is damaged, or if the tokenizer has more tokens than the model.
LanguageModel load_language_model(const std::filesystem::path& dir, Log& log, std::optional<ops::WeightType> type = {},
                                  torch::Device device = torch::kCPU);

// Copies a model directory's tokenizer and chat template, where it has them, to the folder `to`.
void copy_text_files(const std::filesystem::path& model_dir, const std::filesystem::path& to);

}  // namespace crope::model
