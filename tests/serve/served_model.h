// A small random model with a tokenizer, to be served.
#pragma once

#include "crope/serve/api.h"
#include "tests/infer/small_model.h"
#include "tests/text/fixtures.h"

namespace crope::test {

// Token 0 is the end of a text; the vocabulary is padded beyond the tokenizer's 264 tokens.
inline model::LanguageModel served_model(std::int64_t window = 64, double embedding_std = 0.5) {
  const model::ModelConfig config{.vocab_size = 270,
                                  .num_layers = 2,
                                  .num_heads = 2,
                                  .d_model = 24,
                                  .d_ff = 37,
                                  .max_seq_len = window,
                                  .variant = model::Variant::crope_qk};
  return {.model = model::make_random_transformer(config, {.seed = 5, .embedding_std = embedding_std}),
          .tokenizer = text::Tokenizer(text::small_vocabulary()),
          .end_tokens = {0},
          .begin_token = 0,
          .dir = "no_such_run"};
}

}  // namespace crope::test
