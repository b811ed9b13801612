#include "cli/generation_flags.h"

#include <ATen/Parallel.h>
#include <fmt/format.h>

#include "crope/base/error.h"
#include "crope/base/threads.h"

namespace crope::cli {

std::optional<ops::WeightType> weight_type_of(const std::string& word) {
  if (word.empty()) return std::nullopt;
  return Choice<ops::WeightType>::by_name(word, "--weights");
}

void declare_generation_flags(Flags& flags, GenerationFlags& values) {
  flags.positional("dir", values.dir, "A model or run directory");
  flags.option("--max-tokens", values.max_tokens, "Largest number of new tokens");
  flags.option("--temperature", values.sampling.temperature,
               "Randomness of the choice (0: always the most likely token)");
  flags.option("--top-k", values.sampling.top_k, "Choose among the k most likely tokens (0: all)");
  flags.option("--top-p", values.sampling.top_p,
               "Choose among the most likely tokens that together have this probability");
  flags.option("--min-p", values.sampling.min_p,
               "Choose among tokens with at least this share of the largest probability");
  flags.option("--repetition-penalty", values.sampling.repetition_penalty,
               "Above 1, tokens that have appeared become less likely");
  flags.option("--seed", values.seed, "Seed of the random choices");
  flags.option("--stop", values.stop, "Stop before this text; may be repeated");
  flags.option("--weights", values.weights, kWeightsHelp);
  declare_speculate_flag(flags, values);
  flags.option("--ignore-eos", values.ignore_eos, "Continue after the end-of-text token");
  flags.option("--add-bos", values.add_bos, "Begin with the end-of-text token, as training documents do");
  flags.option("--threads", values.threads, "Number of threads (0: all processors)");
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

model::LanguageModel load_model(const GenerationFlags& flags, Log& log) {
  const auto type = weight_type_of(flags.weights);
  at::set_num_threads(resolve_thread_count(flags.threads));
  return model::load_language_model(flags.dir, log, type);
}

void declare_chat_template_flag(Flags& flags, GenerationFlags& values) {
  flags.option("--chat-template", values.chat_template,
               "How conversations are written: a file with a template, or plain, chatml, llama2, llama3 or zephyr "
               "(default: the model's own)");
}

infer::ChatTemplate chat_template_of(const GenerationFlags& flags, const model::LanguageModel& model) {
  try {
    return infer::ChatTemplate::of(model, flags.chat_template);
  } catch (const UsageError& e) {
    throw UsageError(e.what(),
                     "choose one with --chat-template FILE, or --chat-template chatml, llama2, llama3, "
                     "zephyr or plain");
  }
}

void declare_speculate_flag(Flags& flags, GenerationFlags& values) {
  flags.option("--speculate", values.speculate,
               "Guess up to this many tokens from earlier text and check them in one step: the same text, faster where "
               "it repeats itself or the prompt (0: off)");
}

infer::EngineOptions engine_options(const GenerationFlags& flags) {
  if (flags.speculate < 0 || flags.speculate > infer::kMostSpeculation) {
    throw UsageError(
        fmt::format("--speculate: expected a number from 0 to {}, got {}", infer::kMostSpeculation, flags.speculate),
        "try 8");
  }
  return {.speculate = flags.speculate};
}

std::string speed_line(const infer::Engine::Statistics& s) {
  const double seconds = s.prefill_seconds + s.decode_seconds;
  std::string line = fmt::format("{} tokens in {:.2f} s", s.new_tokens, seconds);
  if (s.decoded_tokens > 0)
    line += fmt::format(": {:.1f} tokens/s", static_cast<double>(s.decoded_tokens) / s.decode_seconds);
  line += fmt::format("; prompt of {} tokens: {:.0f} tokens/s", s.prompt_tokens + s.shared_tokens,
                      static_cast<double>(s.prompt_tokens + s.shared_tokens) / s.prefill_seconds);
  if (s.guessed_tokens > 0) {
    line += fmt::format("; {} of {} guesses right ({:.0f}%)", s.right_tokens, s.guessed_tokens,
                        100 * static_cast<double>(s.right_tokens) / static_cast<double>(s.guessed_tokens));
  }
  return line;
}

}  // namespace crope::cli
