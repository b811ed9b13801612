#include "crope/interop/hf_config.h"

#include <fmt/format.h>

#include <array>

#include "crope/base/error.h"

namespace crope::interop {
namespace {

using model::ModelConfig;

constexpr std::array<const char*, 3> kTokenIdKeys = {"bos_token_id", "eos_token_id", "pad_token_id"};

// Reads fields of one config.json; every message names the file and the field.
class FieldReader {
 public:
  FieldReader(const Json& json, const std::string& origin) : json_(json), origin_(origin) {}

  [[noreturn]] void refuse(const std::string& field, const std::string& why) const {
    throw Error(fmt::format("{}: {}", origin_, field), why);
  }

  // The value, or null when it is absent.
  const Json& find(const char* field) const {
    static const Json kNull;
    const auto found = json_.find(field);
    return found == json_.end() ? kNull : *found;
  }

  std::int64_t integer(const char* field, std::optional<std::int64_t> fallback = std::nullopt) const {
    const Json& value = find(field);
    if (value.is_null() && fallback) return *fallback;
    if (!value.is_number_integer()) {
      throw Error(fmt::format("{}: {}: expected a whole number, found {}", origin_, field, value.dump()));
    }
    return value.get<std::int64_t>();
  }

  double number(const Json& value, const char* field, std::optional<double> fallback = std::nullopt) const {
    if (value.is_null() && fallback) return *fallback;
    if (!value.is_number()) {
      throw Error(fmt::format("{}: {}: expected a number, found {}", origin_, field, value.dump()));
    }
    return value.get<double>();
  }

  bool flag(const char* field, bool fallback) const {
    const Json& value = find(field);
    if (value.is_null()) return fallback;
    if (!value.is_boolean()) {
      throw Error(fmt::format("{}: {}: expected true or false, found {}", origin_, field, value.dump()));
    }
    return value.get<bool>();
  }

 private:
  const Json& json_;
  const std::string& origin_;
};

// What changes the computation in a way that we do not have.
void refuse_the_unknown(const FieldReader& fields) {
  for (const char* field : {"attention_bias", "mlp_bias", "use_sliding_window"}) {
    if (fields.flag(field, false)) fields.refuse(fmt::format("{} = true", field), "crope has no such models");
  }
  const Json& layers = fields.find("layer_types");
  for (const Json& layer : layers) {
    if (layer != "full_attention")
      fields.refuse(fmt::format("layer_types has {}", layer.dump()), "only full attention");
  }
  const Json& activation = fields.find("hidden_act");
  if (!activation.is_null() && activation != "silu") {
    fields.refuse(fmt::format("hidden_act = {}", activation.dump()), "only silu is supported");
  }
  if (!fields.find("quantization_config").is_null()) {
    fields.refuse("quantization_config", "only plain F32, F16 and BF16 weights are supported");
  }
  const double rotary_share = fields.number(fields.find("partial_rotary_factor"), "partial_rotary_factor", 1.0);
  if (rotary_share != 1.0)
    fields.refuse(fmt::format("partial_rotary_factor = {}", rotary_share), "only whole heads are rotated");
}

// rope_parameters of transformers 5, else rope_scaling and rope_theta of transformers 4.
double read_rope_theta(const FieldReader& fields) {
  constexpr double kDefault = 10'000;
  const Json& parameters = fields.find("rope_parameters");
  const Json& scaling = fields.find("rope_scaling");
  for (const Json* each : {&parameters, &scaling}) {
    if (each->is_null()) continue;
    if (!each->is_object()) fields.refuse("rope_parameters or rope_scaling", "expected an object");
    const Json type = each->value("rope_type", each->value("type", Json("default")));
    const double share = fields.number(each->value("partial_rotary_factor", Json()), "partial_rotary_factor", 1.0);
    if (share != 1.0) fields.refuse(fmt::format("partial_rotary_factor = {}", share), "only whole heads are rotated");
    if (type != "default")
      fields.refuse(fmt::format("rope scaling of type {}", type.dump()), "only unscaled RoPE is supported");
  }
  if (parameters.is_object() && parameters.contains("rope_theta")) {
    return fields.number(parameters["rope_theta"], "rope_parameters.rope_theta");
  }
  return fields.number(fields.find("rope_theta"), "rope_theta", kDefault);
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
  if (!config.qk_norm) {
    throw Error("a model without QK-norm cannot be written as Qwen3, which always has it",
                "the directory it was imported from is already in Hugging Face's format");
  }
  // half_rope_qk has heads of two widths; Qwen3 has one. hf_layout fills the narrow ones up.
  Json json = {{"architectures", {"Qwen3ForCausalLM"}},
               {"model_type", "qwen3"},
               {"vocab_size", config.vocab_size},
               {"hidden_size", config.d_model},
               {"intermediate_size", config.d_ff},
               {"num_hidden_layers", config.num_layers},
               {"num_attention_heads", config.num_heads},
               {"num_key_value_heads", config.num_heads},
               {"head_dim", config.v_width()},
               {"hidden_act", "silu"},
               {"max_position_embeddings", config.max_seq_len},
               {"initializer_range", 0.02},
               {"rms_norm_eps", config.norm_eps},
               {"use_cache", true},
               {"tie_word_embeddings", config.tie_embeddings},
               {"rope_theta", config.rope_theta},
               {"rope_parameters", {{"rope_type", "default"}, {"rope_theta", config.rope_theta}}},
               {"attention_bias", false},
               {"attention_dropout", 0.0},
               {"use_sliding_window", false},
               {"sliding_window", nullptr},
               {"max_window_layers", config.num_layers},
               {"torch_dtype", dtype},
               {"crope", model::config_to_json(config)}};
  const Json fallback = special.end_of_text ? Json(*special.end_of_text) : Json(nullptr);
  for (const char* key : kTokenIdKeys) json[key] = config.other_keys.value(key, fallback);
  return json;
}

Json generation_ids(const Json& json, const std::string& origin) {
  const FieldReader fields(json, origin);
  Json ids = Json::object();
  for (const char* key : kTokenIdKeys) {
    const Json& value = fields.find(key);
    if (value.is_null()) continue;
    const bool is_list = value.is_array() && !value.empty();
    for (const Json& id : is_list ? value : Json::array({value})) {
      if (!id.is_number_integer()) fields.refuse(fmt::format("{} = {}", key, value.dump()), "expected a token id");
    }
    ids[key] = value;
  }
  return ids;
}

HfModel read_hf_config(const Json& json, const std::string& origin) {
  if (!json.is_object()) throw Error(fmt::format("{}: expected a JSON object, found {}", origin, json.type_name()));
  const FieldReader fields(json, origin);
  const Json& type = fields.find("model_type");
  if (type != "qwen3" && type != "llama") {
    fields.refuse(fmt::format("model_type = {}", type.dump()), "crope imports qwen3 and llama models");
  }
  refuse_the_unknown(fields);
  HfModel result;
  ModelConfig& config = result.config;
  config.vocab_size = fields.integer("vocab_size");
  config.num_layers = fields.integer("num_hidden_layers");
  config.num_heads = fields.integer("num_attention_heads");
  config.d_model = fields.integer("hidden_size");
  config.d_ff = fields.integer("intermediate_size");
  config.rope_theta = read_rope_theta(fields);
  config.norm_eps = fields.number(fields.find("rms_norm_eps"), "rms_norm_eps", 1e-6);
  config.max_seq_len = fields.integer("max_position_embeddings");
  config.qk_norm = type == "qwen3";
  config.tie_embeddings = fields.flag("tie_word_embeddings", false);
  if (config.num_heads < 1)
    fields.refuse(fmt::format("num_attention_heads = {}", config.num_heads), "expected 1 or more");
  const std::int64_t usual_width = config.d_model / config.num_heads;
  const std::int64_t width = fields.integer("head_dim", type == "qwen3" ? 128 : usual_width);
  if (width != usual_width || config.d_model % config.num_heads != 0) config.head_dim = width;
  result.key_value_heads = fields.integer("num_key_value_heads", config.num_heads);
  if (result.key_value_heads < 1 || config.num_heads % result.key_value_heads != 0) {
    fields.refuse(fmt::format("num_key_value_heads = {}", result.key_value_heads),
                  fmt::format("expected a divisor of num_attention_heads = {}", config.num_heads));
  }
  try {
    model::validate(config);
  } catch (const Error& e) {
    throw Error(fmt::format("{}: {}", origin, e.what()), e.hint());
  }
  return result;
}

}  // namespace crope::interop
