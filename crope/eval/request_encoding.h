// Texts to tokens, split between context and continuation as lm_eval splits them.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "crope/infer/scorer.h"
#include "crope/text/tokenizer.h"

namespace crope::eval {

enum class Bos { absent, added };  // lm_eval's hf model adds none to a GPT-2 tokenizer's texts

// The token used for an empty context and before a rolling text: the model's bos, else its eos.
struct Prefix {
  std::optional<std::int32_t> token;
  Bos bos = Bos::absent;  // whether it also begins every prompt

  // Throws Error if the model has none.
  std::int32_t require() const;
};

// The tokens of a prompt. Special tokens in the text count; what begins with the prefix token gets no second one.
std::vector<std::int32_t> encode_prompt(const text::Tokenizer& tokenizer, std::string_view text, const Prefix& prefix);

// The tokens of context + continuation, cut where the tokens of the context alone end. White space at the end of the
// context moves to the continuation. An empty context becomes the prefix token, unless the continuation begins with it.
infer::ScoreRequest encode_pair(const text::Tokenizer& tokenizer, std::string_view context,
                                std::string_view continuation, const Prefix& prefix);

// Rolling windows: every token is predicted once. The first window begins with `prefix`; each further one predicts up
// to `max_length` tokens; the last sees as much before them as fits.
std::vector<infer::ScoreRequest> rolling_windows(std::span<const std::int32_t> tokens, std::int32_t prefix,
                                                 std::int64_t max_length);

}  // namespace crope::eval
