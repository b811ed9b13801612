// The flags that generate, chat and serve share: a model and how to sample from it.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "cli/flags.h"
#include "crope/base/log.h"
#include "crope/infer/chat_template.h"
#include "crope/infer/generation.h"
#include "crope/model/language_model.h"

namespace crope::cli {

// Help of --weights, for every command that has it. "" means the type that the model records.
inline constexpr const char* kWeightsHelp =
    "Type of the weights in memory: fp32, bf16 (half the memory), int8 (a quarter) or int4 (an eighth); smaller is "
    "faster "
    "and less exact (default: as the model was saved, which is fp32 unless it was quantised)";

// Throws UsageError if the word is no type.
std::optional<ops::WeightType> weight_type_of(const std::string& word);

struct GenerationFlags {
  std::string dir;
  std::int64_t max_tokens = 128;
  infer::SamplingOptions sampling;
  std::int64_t seed = 0;
  std::vector<std::string> stop;
  std::string weights;
  bool ignore_eos = false;
  bool add_bos = false;
  std::string chat_template;
  std::int64_t speculate = 0;
  int threads = 0;
};

void declare_generation_flags(Flags& flags, GenerationFlags& values);

// The sampling options with the seed; checked. Throws UsageError naming the flag.
infer::SamplingOptions sampling_of(const GenerationFlags& flags);

// Sets the number of threads and loads the model.
model::LanguageModel load_model(const GenerationFlags& flags, Log& log);

// --chat-template of the commands that hold conversations.
void declare_chat_template_flag(Flags& flags, GenerationFlags& values);

// The template that the flag names, else the model's own. Throws UsageError if it is of no known family.
infer::ChatTemplate chat_template_of(const GenerationFlags& flags, const model::LanguageModel& model);

// --speculate of the commands that generate.
void declare_speculate_flag(Flags& flags, GenerationFlags& values);

// Throws UsageError naming the flag.
infer::EngineOptions engine_options(const GenerationFlags& flags);

// "37 tokens in 1.23 s: 30.1 tokens/s", the same of the prompt, and how many guesses were right where there were any.
std::string speed_line(const infer::Engine::Statistics& statistics);

}  // namespace crope::cli
