#include "crope/interop/gguf_config.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "crope/base/error.h"

namespace crope::interop {
namespace {

using formats::GgufFile;
using model::ModelConfig;
using ops::RopeScaling;
using ops::RopeStretch;

// Keys of one architecture.
class ShapeKeys {
 public:
  ShapeKeys(const GgufFile& file, std::string architecture) : file_(file), architecture_(std::move(architecture)) {}

  std::string name(const char* key) const { return fmt::format("{}.{}", architecture_, key); }
  std::optional<std::int64_t> find(const char* key) const { return file_.find_integer(name(key)); }
  std::int64_t integer(const char* key) const { return file_.integer(name(key)); }
  double number_or(const char* key, double otherwise) const { return file_.find_number(name(key)).value_or(otherwise); }
  std::string word_or(const char* key, const std::string& otherwise) const {
    return file_.find_value(name(key)) == nullptr ? otherwise : file_.value<std::string>(name(key));
  }

  [[noreturn]] void refuse(const char* key, const std::string& found, const std::string& expected,
                           const std::string& hint = {}) const {
    throw Error(fmt::format("{}: {} is {}, expected {}", file_.path().string(), name(key), found, expected), hint);
  }

 private:
  const GgufFile& file_;
  std::string architecture_;
};

// llama3's scaling as the converters of llama.cpp write it: its parameters are found again from the factors that they
// give, with the ends of the ramp that Llama 3.1 and 3.2 have.
RopeScaling scaling_of_factors(const GgufFile& file, const ModelConfig& config, const std::vector<float>& factors) {
  RopeScaling scaling{.type = RopeStretch::llama3, .original_length = 8192};
  scaling.factor = *std::ranges::max_element(factors);
  ModelConfig candidate = config;
  candidate.rope_scaling = scaling;
  const std::vector<float> expected = gguf_rope_factors(candidate);
  bool equal = expected.size() == factors.size();
  for (std::size_t j = 0; equal && j < factors.size(); ++j) {
    equal = std::abs(expected[j] - factors[j]) <= 1e-5f * expected[j];
  }
  if (equal) return scaling;
  throw Error(fmt::format("{}: the tensor '{}' does not hold the factors of Llama 3.1 or 3.2", file.path().string(),
                          kGgufRopeFactors),
              "import the model from Hugging Face's format, whose config.json has rope_scaling");
}

RopeScaling read_scaling(const GgufFile& file, const ShapeKeys& keys, const ModelConfig& config,
                         const std::vector<float>& factors) {
  const std::string type = keys.word_or("rope.scaling.type", "none");
  RopeScaling scaling;
  scaling.factor = keys.number_or("rope.scaling.factor", keys.number_or("rope.scale_linear", 1));
  const bool scaled = scaling.factor != 1;
  if (!factors.empty()) {
    if (scaled) keys.refuse("rope.scaling.factor", fmt::format("{}", scaling.factor), "1 beside rope_freqs.weight");
    return scaling_of_factors(file, config, factors);
  }
  if (type == "linear" || (type == "none" && scaled && file.find_value(keys.name("rope.scaling.type")) == nullptr)) {
    scaling.type = RopeStretch::linear;
  } else if (type == "yarn") {
    scaling.type = RopeStretch::yarn;
    scaling.original_length = keys.find("rope.scaling.original_context_length").value_or(0);
    scaling.beta_fast = keys.number_or("rope.scaling.yarn_beta_fast", scaling.beta_fast);
    scaling.beta_slow = keys.number_or("rope.scaling.yarn_beta_slow", scaling.beta_slow);
    // llama.cpp multiplies the usual factor by this one.
    const double more = keys.number_or("rope.scaling.attn_factor", 1);
    if (more != 1) scaling.attention_factor = more * ops::rope_amplitude(scaling);
  } else if (type != "none") {
    keys.refuse("rope.scaling.type", "'" + type + "'", "none, linear or yarn");
  }
  return scaling.type == RopeStretch::none ? RopeScaling{} : scaling;
}

}  // namespace

std::string gguf_architecture(const ModelConfig& config) {
  if (config.qk_norm) return "qwen3";
  if (config.qk_width() == config.v_width()) return "llama";
  throw Error("a model without QK-norm whose heads of Q and K are narrower than those of V has no place in llama.cpp",
              "variants other than half_rope_qk have");
}

formats::GgufMetadata gguf_shape_keys(const ModelConfig& config) {
  const std::string architecture = gguf_architecture(config);
  formats::GgufMetadata keys;
  const auto add = [&](const char* key, auto value) {
    keys.emplace_back(fmt::format("{}.{}", architecture, key), value);
  };
  const auto integer = [](std::int64_t value) { return static_cast<std::uint32_t>(value); };
  const auto number = [](double value) { return static_cast<float>(value); };
  const RopeScaling& scaling = config.rope_scaling;
  const bool filled = config.qk_width() != config.v_width();
  const auto refuse_scaling = [&](const char* why) {
    throw Error(fmt::format("rope scaling '{}' {}", scaling.type.name(), why), "export to Hugging Face's format");
  };
  double base = config.rope_theta;
  if (scaling.type == RopeStretch::dynamic) {
    if (filled) refuse_scaling("cannot be written with heads of one width");
    // Only the base differs: theta_1 = base^(-2/K).
    const std::int64_t K = config.qk_width();
    if (K > 2) {
      const double theta = ops::rope_frequencies(K, base, scaling, config.max_seq_len)[1];
      base = std::pow(theta, -static_cast<double>(K) / 2);
    }
  }
  add("block_count", integer(config.num_layers));
  add("context_length", integer(config.max_seq_len));
  add("embedding_length", integer(config.d_model));
  add("feed_forward_length", integer(config.d_ff));
  add("attention.head_count", integer(config.num_heads));
  add("attention.head_count_kv", integer(config.kv_heads()));
  add("attention.key_length", integer(config.v_width()));  // narrow Q and K are filled up
  add("attention.value_length", integer(config.v_width()));
  add("attention.layer_norm_rms_epsilon", number(config.norm_eps));
  add("rope.dimension_count", integer(config.v_width()));
  add("rope.freq_base", number(base));
  add("vocab_size", integer(config.vocab_size));
  if (scaling.type == RopeStretch::linear || scaling.type == RopeStretch::yarn) {
    add("rope.scaling.type", std::string(scaling.type.name()));
    add("rope.scaling.factor", number(scaling.factor));
  }
  if (scaling.type == RopeStretch::yarn) {
    if (filled) refuse_scaling("cannot be written with heads of one width");
    if (!scaling.truncate) refuse_scaling("with truncate = false has no place in llama.cpp");
    add("rope.scaling.original_context_length",
        integer(scaling.original_length > 0 ? scaling.original_length : config.max_seq_len));
    const RopeScaling usual{.type = RopeStretch::yarn, .factor = scaling.factor};
    if (const double more = ops::rope_amplitude(scaling) / ops::rope_amplitude(usual); more != 1) {
      add("rope.scaling.attn_factor", number(more));
    }
    if (scaling.beta_fast != usual.beta_fast) add("rope.scaling.yarn_beta_fast", number(scaling.beta_fast));
    if (scaling.beta_slow != usual.beta_slow) add("rope.scaling.yarn_beta_slow", number(scaling.beta_slow));
  }
  if (scaling.type == RopeStretch::llama3 && config.qk_norm) {
    refuse_scaling("of a model with QK-norm has no place in llama.cpp");
  }
  return keys;
}

std::vector<float> gguf_rope_factors(const ModelConfig& config) {
  if (config.rope_scaling.type != RopeStretch::llama3) return {};
  const std::int64_t K = config.qk_width();
  const std::vector<double> plain = ops::rope_frequencies(K, config.rope_theta, {}, config.max_seq_len);
  const std::vector<double> scaled =
      ops::rope_frequencies(K, config.rope_theta, config.rope_scaling, config.max_seq_len);
  std::vector<float> factors;
  for (std::size_t j = 0; j < plain.size(); ++j) factors.push_back(static_cast<float>(plain[j] / scaled[j]));
  return factors;
}

ModelConfig read_gguf_config(const GgufFile& file, const GgufShape& shape) {
  const std::string& architecture = file.value<std::string>("general.architecture");
  if (architecture == "qwen2") {
    throw Error(fmt::format("{}: general.architecture is 'qwen2', expected llama or qwen3", file.path().string()),
                "its biases on Q, K and V are not supported");
  }
  if (architecture != "qwen3" && architecture != "llama") {
    throw Error(
        fmt::format("{}: general.architecture is '{}', expected llama or qwen3", file.path().string(), architecture));
  }
  const ShapeKeys keys(file, architecture);
  if (const auto experts = keys.find("expert_count"); experts.value_or(0) > 0) {
    keys.refuse("expert_count", fmt::format("{}", *experts), "none: mixtures of experts are not supported");
  }
  ModelConfig config;
  config.vocab_size = shape.vocab_size;
  config.num_layers = keys.integer("block_count");
  config.num_heads = keys.integer("attention.head_count");
  config.d_model = keys.integer("embedding_length");
  config.d_ff = keys.integer("feed_forward_length");
  config.rope_theta = keys.number_or("rope.freq_base", 10'000);
  config.norm_eps = file.number(keys.name("attention.layer_norm_rms_epsilon"));
  config.max_seq_len = keys.integer("context_length");
  config.qk_norm = architecture == "qwen3";
  config.tie_embeddings = shape.tied;
  if (config.num_heads < 1) keys.refuse("attention.head_count", fmt::format("{}", config.num_heads), "1 or more");
  const std::int64_t usual = config.d_model / config.num_heads;
  const std::int64_t width = keys.find("attention.key_length").value_or(usual);
  if (width != usual || config.d_model % config.num_heads != 0) config.head_dim = width;
  const std::int64_t shared = keys.find("attention.head_count_kv").value_or(config.num_heads);
  if (shared < 1 || config.num_heads % shared != 0) {
    keys.refuse("attention.head_count_kv", fmt::format("{}", shared),
                fmt::format("a divisor of attention.head_count = {}", config.num_heads));
  }
  if (shared != config.num_heads) config.num_kv_heads = shared;
  for (const char* key : {"attention.value_length", "rope.dimension_count"}) {
    if (const std::int64_t other = keys.find(key).value_or(width); other != width) {
      keys.refuse(key, fmt::format("{}", other), fmt::format("the width of heads, {}", width));
    }
  }
  try {
    model::validate(config);
    config.rope_scaling = read_scaling(file, keys, config, shape.rope_factors);
    model::validate(config);
  } catch (const UsageError& e) {
    throw Error(fmt::format("{}: {}", file.path().string(), e.what()), e.hint());
  }
  return config;
}

}  // namespace crope::interop
