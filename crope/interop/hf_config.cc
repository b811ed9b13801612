#include "crope/interop/hf_config.h"

#include <fmt/format.h>

#include <array>

#include "crope/base/error.h"
#include "crope/base/json_fields.h"
#include "crope/model/rope_scaling.h"

namespace crope::interop {
namespace {

using model::ModelConfig;

constexpr std::array<const char*, 3> kTokenIdKeys = {"bos_token_id", "eos_token_id", "pad_token_id"};

// Throws Error for settings that change the computation in a way that we do not have.
void refuse_the_unknown(const JsonFields& fields) {
  for (const char* field : {"attention_bias", "mlp_bias", "use_sliding_window"}) {
    if (fields.get_or(field, false)) fields.refuse(field, "false", "crope has no such models");
  }
  if (const Json* layers = fields.find("layer_types")) {
    for (const Json& layer : *layers) {
      if (layer != "full_attention") fields.refuse("layer_types", "full_attention in every layer");
    }
  }
  if (fields.get_or<std::string>("hidden_act", "silu") != "silu") fields.refuse("hidden_act", "silu");
  if (fields.find("quantization_config") != nullptr) {
    fields.refuse("quantization_config", "plain F32, F16 or BF16 weights");
  }
  if (fields.get_or("partial_rotary_factor", 1.0) != 1.0) {
    fields.refuse("partial_rotary_factor", "1: only whole heads are rotated");
  }
}

// rope_parameters of transformers 5, else rope_scaling and rope_theta of transformers 4.
void read_rope(const JsonFields& fields, ModelConfig& config) {
  config.rope_theta = fields.get_or("rope_theta", 10'000.0);
  for (const char* name : {model::kRopeScalingKey, "rope_parameters"}) {
    const Json* rope = fields.find(name);
    if (rope == nullptr) continue;
    config.rope_scaling = model::rope_scaling_from_json(*rope, fmt::format("{}: {}", fields.origin(), name));
    config.rope_theta = fields.object(name).get_or("rope_theta", config.rope_theta);
  }
}

// rope_parameters of transformers 5.
Json rope_parameters(const ModelConfig& config) {
  Json parameters = model::rope_scaling_to_json(config.rope_scaling);
  parameters["rope_theta"] = config.rope_theta;
  return parameters;
}

// Frequencies of heads that are filled up are every second of the wider head's: true of some kinds of scaling only.
void check_filled_scaling(const ModelConfig& config) {
  const ops::RopeStretch type = config.rope_scaling.type;
  if (config.qk_width() == config.v_width()) return;
  if (type != ops::RopeStretch::dynamic && type != ops::RopeStretch::yarn) return;
  throw Error(fmt::format("{} with rope scaling '{}' cannot be written with heads of one width",
                          model::traits(config.variant).name, config.rope_scaling.type.name()),
              "export it in its own format");
}

}  // namespace

std::string hf_dtype_name(torch::ScalarType type) {
  switch (type) {
    case torch::kBFloat16:
      return "bfloat16";
    case torch::kFloat16:
      return "float16";
    default:
      return "float32";
  }
}

Json hf_config_from(const ModelConfig& config, const std::string& dtype, const SpecialTokens& special) {
  if (!config.qk_norm && config.qk_width() != config.v_width()) {
    throw Error(
        "a model without QK-norm whose heads of Q and K are narrower than those of V is neither Qwen3 nor Llama",
        "export it in its own format");
  }
  check_filled_scaling(config);
  // half_rope_qk has heads of two widths; Qwen3 has one. hf_layout fills the narrow ones up.
  Json json = {{"architectures", {config.qk_norm ? "Qwen3ForCausalLM" : "LlamaForCausalLM"}},
               {"model_type", config.qk_norm ? "qwen3" : "llama"},
               {"vocab_size", config.vocab_size},
               {"hidden_size", config.d_model},
               {"intermediate_size", config.d_ff},
               {"num_hidden_layers", config.num_layers},
               {"num_attention_heads", config.num_heads},
               {"num_key_value_heads", config.kv_heads()},
               {"head_dim", config.v_width()},
               {"hidden_act", "silu"},
               {"max_position_embeddings", config.max_seq_len},
               {"initializer_range", 0.02},
               {"rms_norm_eps", config.norm_eps},
               {"use_cache", true},
               {"tie_word_embeddings", config.tie_embeddings},
               {"rope_theta", config.rope_theta},
               {"rope_parameters", rope_parameters(config)},
               {"attention_bias", false},
               {"attention_dropout", 0.0},
               {"torch_dtype", dtype},
               {"crope", model::config_to_json(config)}};
  if (config.qk_norm) {
    json.update({{"use_sliding_window", false}, {"sliding_window", nullptr}, {"max_window_layers", config.num_layers}});
  } else {
    json["mlp_bias"] = false;
  }
  if (config.rope_scaling != ops::RopeScaling{}) {
    json[model::kRopeScalingKey] = model::rope_scaling_to_json(config.rope_scaling);
  }
  const Json fallback = special.end_of_text ? Json(*special.end_of_text) : Json(nullptr);
  for (const char* key : kTokenIdKeys) json[key] = config.other_keys.value(key, fallback);
  return json;
}

Json generation_ids(const Json& json, const std::string& origin) {
  const JsonFields fields(json, origin);
  Json ids = Json::object();
  for (const char* key : kTokenIdKeys) {
    const Json* value = fields.find(key);
    if (value == nullptr) continue;
    const bool is_list = value->is_array() && !value->empty();
    for (const Json& id : is_list ? *value : Json::array({*value})) {
      if (!id.is_number_integer()) fields.refuse(key, "a token id");
    }
    ids[key] = *value;
  }
  return ids;
}

ModelConfig read_hf_config(const Json& json, const std::string& origin) {
  const JsonFields fields(json, origin);
  const auto type = fields.get_or<std::string>("model_type", "");
  if (type != "qwen3" && type != "llama") {
    fields.refuse("model_type", "qwen3 or llama", "crope imports Qwen3 and Llama models");
  }
  refuse_the_unknown(fields);
  ModelConfig config;
  config.vocab_size = fields.get<std::int64_t>("vocab_size");
  config.num_layers = fields.get<std::int64_t>("num_hidden_layers");
  config.num_heads = fields.integer("num_attention_heads", 1, INT32_MAX);
  config.d_model = fields.get<std::int64_t>("hidden_size");
  config.d_ff = fields.get<std::int64_t>("intermediate_size");
  read_rope(fields, config);
  config.norm_eps = fields.get_or("rms_norm_eps", 1e-6);
  config.max_seq_len = fields.get<std::int64_t>("max_position_embeddings");
  config.qk_norm = type == "qwen3";
  config.tie_embeddings = fields.get_or("tie_word_embeddings", false);
  const std::int64_t usual_width = config.d_model / config.num_heads;
  const std::int64_t width = fields.get_or("head_dim", type == "qwen3" ? 128 : usual_width);
  if (width != usual_width || config.d_model % config.num_heads != 0) config.head_dim = width;
  const auto key_value_heads = fields.get_or("num_key_value_heads", config.num_heads);
  if (key_value_heads < 1 || config.num_heads % key_value_heads != 0) {
    fields.refuse("num_key_value_heads", fmt::format("a divisor of num_attention_heads = {}", config.num_heads));
  }
  if (key_value_heads != config.num_heads) config.num_kv_heads = key_value_heads;
  try {
    model::validate(config);
  } catch (const Error& e) {
    throw Error(fmt::format("{}: {}", origin, e.what()), e.hint());
  }
  return config;
}

}  // namespace crope::interop
