#include "crope/train/sample.h"

#include <ATen/ATen.h>

#include <algorithm>

#include "crope/infer/generation.h"

namespace crope::train {

std::string sample_line(const model::Transformer& model, const text::Tokenizer& tokenizer, std::int64_t tokens,
                        std::uint64_t seed) {
  const at::NoGradGuard no_grad;
  const auto begin = tokenizer.end_of_text();
  infer::GenerationRequest request{.prompt = {begin.value_or(0)},
                                   .max_tokens = std::min(tokens, model.config.max_seq_len - 1),
                                   .sampling = {.temperature = 0.8, .top_k = 50, .seed = seed}};
  if (begin) request.end_tokens = {*begin};
  std::string line;
  infer::generate(model, &tokenizer, std::span(&request, 1), {},
                  {.on_done = [&](std::size_t, const infer::Generation& done) { line = done.text; }});
  std::ranges::replace(line, '\n', ' ');
  return line;
}

}  // namespace crope::train
