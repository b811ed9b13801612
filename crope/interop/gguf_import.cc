#include "crope/interop/gguf_import.h"

#include <fmt/format.h>

#include <utility>

#include "crope/base/error.h"
#include "crope/base/file.h"
#include "crope/interop/gguf_model.h"
#include "crope/interop/gguf_vocabulary.h"
#include "crope/model/language_model.h"
#include "crope/model/model_dir.h"
#include "crope/model/tensor_file.h"
#include "crope/text/tokenizer_json.h"

namespace crope::interop {
namespace fs = std::filesystem;
namespace {

// Each tensor is widened when the writer has come to it.
std::vector<formats::TensorSource> widened_sources(const GgufModel& model, torch::ScalarType type) {
  std::vector<formats::TensorSource> sources;
  for (const model::ParameterSpec& spec : model::parameter_specs(model.config())) {
    sources.push_back({spec.name, model::element_type(type), spec.shape,
                       [&model, spec, type](const formats::TensorSource::Sink& sink) {
                         model::tensor_source("", model.read(spec).to(type)).produce(sink);
                       }});
  }
  return sources;
}

// The model's configuration with its token ids; its vocabulary and chat template are written to `folder`.
model::ModelConfig import_text_files(const GgufModel& model, const fs::path& folder, Log& log) {
  model::ModelConfig config = model.config();
  const fs::path& file = model.head().path();
  config.other_keys = gguf_token_ids(model.head(), config.vocab_size);
  const std::optional<text::Vocabulary> vocabulary = read_gguf_vocabulary(model.head());
  if (!vocabulary) {
    log.warn(fmt::format("{} has no vocabulary: the model reads and writes token ids only", file.string()));
  } else if (std::cmp_greater(vocabulary->tokens.size(), config.vocab_size)) {
    throw Error(fmt::format("{}: {} tokens, but the embedding has {} rows", file.string(), vocabulary->tokens.size(),
                            config.vocab_size));
  } else {
    text::write_tokenizer_files(folder, *vocabulary, {.model_max_length = static_cast<int>(config.max_seq_len)});
  }
  constexpr const char* kTemplate = "tokenizer.chat_template";
  if (model.head().find_value(kTemplate) != nullptr) {
    write_file(folder / model::kChatTemplateFile, model.head().value<std::string>(kTemplate));
  }
  return config;
}

}  // namespace

void import_gguf(const fs::path& file, const fs::path& out, torch::ScalarType type, Log& log) {
  AtomicDirectory directory(out);
  const fs::path folder = directory.working_path();
  const GgufModel model(file);
  write_json(folder / model::kConfigFile, model::config_to_json(import_text_files(model, folder, log)));
  formats::write_safetensors(folder / model::kWeightsFile, widened_sources(model, type));
  directory.commit();
}

void import_gguf_blocks(const fs::path& file, const fs::path& out, Log& log) {
  AtomicDirectory directory(out);
  const GgufModel model(file);
  const model::ModelConfig config = import_text_files(model, directory.working_path(), log);
  std::vector<std::string> rounded;
  std::vector<model::StoredValue> values;
  for (const model::ParameterSpec& spec : model::parameter_specs(config)) {
    values.push_back(model.read_stored(spec, rounded));
  }
  if (!rounded.empty()) {
    log.warn(fmt::format("{}: {} matrices are not in blocks that can be kept, '{}' for one: they are rounded to 8 bits",
                         file.string(), rounded.size(), rounded.front()));
  }
  model::save_model_files(model::make_transformer(config, std::move(values)), directory.working_path());
  directory.commit();
}

}  // namespace crope::interop
