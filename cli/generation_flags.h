// What generate and chat have in common: the flags of a model to generate with, and the model behind them.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "cli/flags.h"
#include "crope/base/log.h"
#include "crope/infer/generation.h"
#include "crope/model/transformer.h"
#include "crope/text/tokenizer.h"

namespace crope::cli {

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

struct GenerationModel {
  model::Transformer model;
  std::optional<text::Tokenizer> tokenizer;
  std::vector<std::int32_t> end_tokens;     // of a document, by config.json, which may name several, or tokenizer
  std::optional<std::int32_t> begin_token;  // likewise

  // Throws UsageError unless there is a tokenizer.
  const text::Tokenizer& require_tokenizer() const;

  // The ids of a text. Throws UsageError, starting with `origin`, if it is not UTF-8 or there is no tokenizer.
  std::vector<std::int32_t> encode(const std::string& text, const std::string& origin) const;

  std::string dir;
};

// Sets the number of threads and loads model and tokenizer. Throws Error if they do not belong together.
GenerationModel load_generation_model(const GenerationFlags& flags, Log& log);

// "37 tokens in 1.23 s: 30.1 tokens/s", and the same of the prompt.
std::string speed_line(const infer::Engine::Statistics& statistics);

}  // namespace crope::cli
