#include "cli/generation_flags.h"

#include <ATen/Parallel.h>
#include <fmt/format.h>

#include <filesystem>

#include "crope/base/error.h"
#include "crope/base/threads.h"
#include "crope/base/utf8.h"
#include "crope/model/model_dir.h"

namespace crope::cli {
namespace {

// The ids that config.json names beside the fields of the model, one or a list, as imported models have them. What is
// no token of the model is left out.
std::vector<std::int32_t> configured_tokens(const model::ModelConfig& config, const char* key) {
  std::vector<std::int32_t> ids;
  const auto add = [&](const Json& value) {
    if (!value.is_number_integer()) return;
    const auto id = value.get<std::int64_t>();
    if (id >= 0 && id < config.vocab_size) ids.push_back(static_cast<std::int32_t>(id));
  };
  const auto place = config.other_keys.find(key);
  if (place == config.other_keys.end()) return ids;
  if (!place->is_array()) {
    add(*place);
  } else {
    for (const Json& value : *place) add(value);
  }
  return ids;
}

torch::ScalarType weight_type(const std::string& name) {
  if (name == "fp32") return torch::kFloat32;
  if (name == "bf16") return torch::kBFloat16;
  throw UsageError(fmt::format("--weights: expected fp32 or bf16, got '{}'", name));
}

}  // namespace

void declare_generation_flags(Flags& flags, GenerationFlags& values) {
  flags.positional("dir", values.dir, "A model or run directory");
  flags.option("--max-tokens", values.max_tokens, "New tokens at most");
  flags.option("--temperature", values.sampling.temperature, "0: always the most likely token");
  flags.option("--top-k", values.sampling.top_k, "Only the k most likely tokens (0: all)");
  flags.option("--top-p", values.sampling.top_p, "Only the most likely tokens that together have this probability");
  flags.option("--min-p", values.sampling.min_p, "Only tokens with this share of the largest probability");
  flags.option("--repetition-penalty", values.sampling.repetition_penalty,
               "Above 1: tokens that were there are less likely");
  flags.option("--seed", values.seed, "Of the random choices");
  flags.option("--stop", values.stop, "End before this text; may be repeated");
  flags.option("--weights", values.weights, "fp32, or bf16: half the memory, a little less exact");
  flags.option("--ignore-eos", values.ignore_eos, "Go on after the end-of-text token");
  flags.option("--add-bos", values.add_bos, "Begin with the end-of-text token, as training documents do");
  flags.option("--threads", values.threads, "Threads (0: all processors)");
}

infer::SamplingOptions sampling_of(const GenerationFlags& flags) {
  infer::SamplingOptions sampling = flags.sampling;
  if (flags.seed < 0) throw UsageError(fmt::format("--seed: expected a number from 0, got {}", flags.seed));
  sampling.seed = static_cast<std::uint64_t>(flags.seed);
  infer::validate(sampling);
  if (flags.max_tokens < 1) {
    throw UsageError(fmt::format("--max-tokens: expected a number from 1, got {}", flags.max_tokens));
  }
  return sampling;
}

const text::Tokenizer& GenerationModel::require_tokenizer() const {
  if (tokenizer) return *tokenizer;
  throw UsageError(fmt::format("there is no tokenizer.json in {}", dir),
                   "put one there ('crope tokenizer import' makes it from GPT-2's files), or give --prompt-ids");
}

std::vector<std::int32_t> GenerationModel::encode(const std::string& text, const std::string& origin) const {
  const std::size_t valid = valid_utf8_prefix(text);
  if (valid < text.size()) {
    throw UsageError(fmt::format("{}: not valid UTF-8 at byte {}", origin, valid), "convert it to UTF-8 first");
  }
  return require_tokenizer().encode(text);
}

GenerationModel load_generation_model(const GenerationFlags& flags, Log& log) {
  const torch::ScalarType type = weight_type(flags.weights);
  at::set_num_threads(resolve_thread_count(flags.threads));
  const std::filesystem::path dir = model::resolve_model_dir(flags.dir);
  GenerationModel result{.dir = dir.string()};
  const model::ModelConfig config = model::load_config(dir);
  if (std::filesystem::exists(dir / "tokenizer.json")) {
    result.tokenizer = text::Tokenizer::load(dir);
    if (result.tokenizer->vocab_size() > config.vocab_size) {
      throw Error(fmt::format("{}: the tokenizer has {} tokens, the model only {}", dir.string(),
                              result.tokenizer->vocab_size(), config.vocab_size),
                  "they do not belong together");
    }
  }
  const auto end_of_text = result.tokenizer ? result.tokenizer->end_of_text() : std::nullopt;
  result.end_tokens = configured_tokens(config, "eos_token_id");
  if (result.end_tokens.empty() && end_of_text) result.end_tokens = {*end_of_text};
  const std::vector<std::int32_t> begin_tokens = configured_tokens(config, "bos_token_id");
  result.begin_token = begin_tokens.empty() ? end_of_text : begin_tokens.front();
  result.model = model::load_model(dir, log, torch::TensorOptions(type));
  return result;
}

std::string speed_line(const infer::Engine::Statistics& s) {
  const double seconds = s.prefill_seconds + s.decode_seconds;
  std::string line = fmt::format("{} tokens in {:.2f} s", s.new_tokens, seconds);
  if (s.decoded_tokens > 0)
    line += fmt::format(": {:.1f} tokens/s", static_cast<double>(s.decoded_tokens) / s.decode_seconds);
  return line + fmt::format("; prompt of {} tokens: {:.0f} tokens/s", s.prompt_tokens + s.shared_tokens,
                            static_cast<double>(s.prompt_tokens + s.shared_tokens) / s.prefill_seconds);
}

}  // namespace crope::cli
