// Small random models of every variant, and their logits without a cache.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "crope/base/random.h"
#include "crope/model/init.h"
#include "tests/tensor_checks.h"

namespace crope::test {

inline constexpr std::int64_t kSmallVocabulary = 61;

inline model::Transformer small_model(model::Variant variant, std::int64_t max_seq_len = 24) {
  const model::ModelConfig config{.vocab_size = kSmallVocabulary,
                                  .num_layers = 2,
                                  .num_heads = 2,
                                  .d_model = 24,
                                  .d_ff = 37,
                                  .max_seq_len = max_seq_len,
                                  .variant = variant};
  return model::make_random_transformer(config, {.seed = 5, .embedding_std = 0.5});
}

inline std::vector<std::int32_t> draw_ids(std::uint64_t seed, std::size_t count) {
  RandomStream random(seed, "ids");
  std::vector<std::int32_t> ids;
  for (std::size_t i = 0; i < count; ++i) ids.push_back(static_cast<std::int32_t>(random.below(kSmallVocabulary)));
  return ids;
}

// [T, V] by the forward pass of training.
inline at::Tensor uncached_logits(const model::Transformer& model, std::span<const std::int32_t> ids) {
  const at::NoGradGuard no_grad;
  const std::vector<std::int64_t> wide(ids.begin(), ids.end());
  return model::logits(model, at::tensor(wide, at::kLong).unsqueeze(0))[0];
}

// A copy whose weights are rounded to bf16, in the given type.
inline model::Transformer rounded_model(const model::Transformer& model, at::ScalarType type) {
  std::vector<at::Tensor> values;
  for (const model::Parameter& parameter : model.parameters) {
    values.push_back(parameter.value.to(at::kBFloat16).to(type));
  }
  return model::make_transformer(model.config, values);
}

}  // namespace crope::test
