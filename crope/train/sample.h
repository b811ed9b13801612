// A few words of a model in training: what a loss of 3.2 reads like.
#pragma once

#include <cstdint>
#include <string>

#include "crope/model/transformer.h"
#include "crope/text/tokenizer.h"

namespace crope::train {

// Up to `tokens` tokens of a new document, on one line, the same for the same weights and seed.
// REQUIRES: the model is on the CPU.
std::string sample_line(const model::Transformer& model, const text::Tokenizer& tokenizer, std::int64_t tokens,
                        std::uint64_t seed);

}  // namespace crope::train
