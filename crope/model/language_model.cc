#include "crope/model/language_model.h"

#include <fmt/format.h>

#include "crope/base/error.h"
#include "crope/base/file.h"
#include "crope/base/utf8.h"
#include "crope/model/model_dir.h"

namespace crope::model {
namespace fs = std::filesystem;
namespace {

constexpr std::uint64_t kLongestTemplate = 1 << 20;

// The ids under `key` of config.json, one or a list, as imported models have them; ids outside the vocabulary are
// skipped.
std::vector<std::int32_t> configured_tokens(const ModelConfig& config, const char* key) {
  const auto place = config.other_keys.find(key);
  if (place == config.other_keys.end()) return {};
  std::vector<std::int32_t> ids;
  for (const Json& value : place->is_array() ? *place : Json::array({*place})) {
    if (!value.is_number_integer()) continue;
    const auto id = value.get<std::int64_t>();
    if (id >= 0 && id < config.vocab_size) ids.push_back(static_cast<std::int32_t>(id));
  }
  return ids;
}

// The model in `type`, or in the type it records. Weights of another type are made from the widened ones.
Transformer load_weights(const fs::path& source, Log& log, std::optional<ops::WeightType> type, torch::Device device) {
  const ops::WeightType recorded = load_weight_type(source);
  const ops::WeightType wanted = type.value_or(recorded);
  if (ops::is_quantised(wanted) && device.is_cpu()) {
    return load_quantised_model(source, log, wanted == recorded ? std::nullopt : std::optional(wanted));
  }
  const auto narrow = wanted == ops::WeightType::bf16 ? torch::kBFloat16 : torch::kFloat32;
  return load_model(source, log, torch::TensorOptions(device).dtype(narrow));
}

}  // namespace

const text::Tokenizer& LanguageModel::require_tokenizer() const {
  if (tokenizer) return *tokenizer;
  throw UsageError(fmt::format("{} has no {}", dir.string(), text::kTokenizerFile),
                   "copy the one that the model was trained with into that folder");
}

std::vector<std::int32_t> LanguageModel::encode(std::string_view text, std::string_view origin) const {
  const std::size_t valid = valid_utf8_prefix(text);
  if (valid < text.size()) {
    throw UsageError(fmt::format("{}: not valid UTF-8 at byte {}", origin, valid), "convert it to UTF-8 first");
  }
  return require_tokenizer().encode(text);
}

LanguageModel load_language_model(const fs::path& dir, Log& log, std::optional<ops::WeightType> type,
                                  torch::Device device) {
  const fs::path source = resolve_model_dir(dir);
  const ModelConfig config = load_config(source);
  LanguageModel result;
  result.dir = dir;
  if (fs::exists(source / text::kTokenizerFile)) {
    result.tokenizer = text::Tokenizer::load(source);
    if (result.tokenizer->vocab_size() > config.vocab_size) {
      throw Error(fmt::format("{}: the tokenizer has {} tokens, but the model only {}", source.string(),
                              result.tokenizer->vocab_size(), config.vocab_size),
                  "the tokenizer belongs to another model: copy the right one there");
    }
  }
  if (fs::exists(source / kChatTemplateFile)) {
    result.chat_template = read_file(source / kChatTemplateFile, kLongestTemplate);
  }
  const auto end_of_text = result.tokenizer ? result.tokenizer->end_of_text() : std::nullopt;
  result.end_tokens = configured_tokens(config, "eos_token_id");
  if (result.end_tokens.empty() && end_of_text) result.end_tokens = {*end_of_text};
  const std::vector<std::int32_t> begin_tokens = configured_tokens(config, "bos_token_id");
  result.begin_token = begin_tokens.empty() ? end_of_text : begin_tokens.front();
  if (!begin_tokens.empty()) {
    result.prefix_token = begin_tokens.front();
  } else if (!result.end_tokens.empty()) {
    result.prefix_token = result.end_tokens.front();
  }
  result.model = load_weights(source, log, type, device);
  return result;
}

void copy_text_files(const fs::path& model_dir, const fs::path& to) {
  for (const char* name : {text::kTokenizerFile, "tokenizer_config.json", kChatTemplateFile}) {
    if (fs::exists(model_dir / name)) write_file(to / name, read_file(model_dir / name));
  }
}

}  // namespace crope::model
