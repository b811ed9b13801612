#include "cli/generation_flags.h"

#include <ATen/Parallel.h>
#include <fmt/format.h>

#include "crope/base/error.h"
#include "crope/base/threads.h"

namespace crope::cli {

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
  flags.option("--weights", values.weights, kWeightsHelp);
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

model::LanguageModel load_model(const GenerationFlags& flags, Log& log) {
  const auto type = Choice<ops::WeightType>::by_name(flags.weights, "--weights");
  at::set_num_threads(resolve_thread_count(flags.threads));
  return model::load_language_model(flags.dir, log, type);
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
