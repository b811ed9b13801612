// config.json of Hugging Face: Qwen3 and Llama.
#pragma once

#include <torch/types.h>

#include <cstdint>
#include <optional>
#include <string>

#include "crope/base/json.h"
#include "crope/model/config.h"

namespace crope::interop {

// The special token ids that a tokenizer gives, where there is one. Those of config.json come first.
struct SpecialTokens {
  std::optional<std::int64_t> end_of_text;
};

// "float32", "bfloat16" or "float16".
std::string hf_dtype_name(torch::ScalarType type);

// A Qwen3ForCausalLM, or without QK-norm a LlamaForCausalLM, that computes what `config` does, for transformers 4 and
// 5, vLLM and llama.cpp. Our own
// configuration is kept under the key "crope", so that importing gives the variant back.
// `dtype` is "float32", "bfloat16" or "float16". Throws Error if neither can hold the model.
Json hf_config_from(const model::ModelConfig& config, const std::string& dtype, const SpecialTokens& special);

// bos_token_id, eos_token_id and pad_token_id, as far as a config.json of Hugging Face, or its generation_config.json,
// gives them: a token id or a list of them. Empty where it gives none.
// Throws Error naming `origin` and the field if it is anything else.
Json generation_ids(const Json& json, const std::string& origin = "config.json");

// The model as a dense one. Throws Error naming the unsupported field: biases, sliding windows, other
// activations, unknown rope scaling, quantised weights, other architectures. `origin` is the name that messages call
// the file.
model::ModelConfig read_hf_config(const Json& json, const std::string& origin);

}  // namespace crope::interop
