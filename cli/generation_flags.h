// The flags that generate, chat and serve share: a model and how to sample from it.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "cli/flags.h"
#include "crope/base/log.h"
#include "crope/infer/generation.h"
#include "crope/model/language_model.h"

namespace crope::cli {

// Of --weights, wherever a command has it.
inline constexpr const char* kWeightsHelp =
    "fp32; bf16 takes half the memory, int8 a quarter, int4 an eighth: faster, less exact";

struct GenerationFlags {
  std::string dir;
  std::int64_t max_tokens = 128;
  infer::SamplingOptions sampling;
  std::int64_t seed = 0;
  std::vector<std::string> stop;
  std::string weights = "fp32";
  bool ignore_eos = false;
  bool add_bos = false;
  int threads = 0;
};

void declare_generation_flags(Flags& flags, GenerationFlags& values);

// The sampling options with the seed; checked. Throws UsageError naming the flag.
infer::SamplingOptions sampling_of(const GenerationFlags& flags);

// Sets the number of threads and loads the model.
model::LanguageModel load_model(const GenerationFlags& flags, Log& log);

// "37 tokens in 1.23 s: 30.1 tokens/s", and the same of the prompt.
std::string speed_line(const infer::Engine::Statistics& statistics);

}  // namespace crope::cli
