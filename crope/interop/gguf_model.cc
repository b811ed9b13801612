#include "crope/interop/gguf_model.h"

#include <ATen/ATen.h>
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <set>

#include "crope/base/error.h"
#include "crope/interop/ggml_blocks.h"
#include "crope/model/pair_layout.h"

namespace crope::interop {
namespace {

using formats::GgufFile;
using model::ModelConfig;
using torch::Tensor;

ModelConfig read_gguf_config(const GgufFile& file) {
  const std::string& architecture = file.value<std::string>("general.architecture");
  if (architecture != "qwen3" && architecture != "llama") {
    throw Error(
        fmt::format("{}: general.architecture is '{}', expected qwen3 or llama", file.path().string(), architecture));
  }
  const auto integer = [&](const char* key) -> std::int64_t {
    return file.value<std::uint32_t>(fmt::format("{}.{}", architecture, key));
  };
  const auto number = [&](const char* key) { return file.value<float>(fmt::format("{}.{}", architecture, key)); };
  ModelConfig config;
  config.vocab_size = file.at("token_embd.weight").shape.front();
  config.num_layers = integer("block_count");
  config.num_heads = integer("attention.head_count");
  config.d_model = integer("embedding_length");
  config.d_ff = integer("feed_forward_length");
  config.rope_theta = number("rope.freq_base");
  config.norm_eps = number("attention.layer_norm_rms_epsilon");
  config.max_seq_len = integer("context_length");
  config.head_dim = integer("attention.key_length");
  config.qk_norm = architecture == "qwen3";
  config.tie_embeddings = file.find("output.weight") == nullptr;
  for (const char* key : {"attention.value_length", "rope.dimension_count"}) {
    if (integer(key) == config.head_dim) continue;
    throw Error(fmt::format("{}: {}.{} is {}, but heads are {} wide", file.path().string(), architecture, key,
                            integer(key), config.head_dim));
  }
  if (integer("attention.head_count_kv") != config.num_heads) {
    throw Error(fmt::format("{}: heads that share keys and values", file.path().string()),
                "import the model from Hugging Face's format");
  }
  try {
    model::validate(config);
  } catch (const Error& e) {
    throw Error(fmt::format("{}: {}", file.path().string(), e.what()), e.hint());
  }
  return config;
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
  add("block_count", integer(config.num_layers));
  add("context_length", integer(config.max_seq_len));
  add("embedding_length", integer(config.d_model));
  add("feed_forward_length", integer(config.d_ff));
  add("attention.head_count", integer(config.num_heads));
  add("attention.head_count_kv", integer(config.num_heads));
  add("attention.key_length", integer(config.v_width()));  // narrow Q and K are filled up
  add("attention.value_length", integer(config.v_width()));
  add("attention.layer_norm_rms_epsilon", static_cast<float>(config.norm_eps));
  add("rope.dimension_count", integer(config.v_width()));
  add("rope.freq_base", static_cast<float>(config.rope_theta));
  add("vocab_size", integer(config.vocab_size));
  return keys;
}

Tensor to_gguf(const Tensor& disk, const HfName& name, const ModelConfig& config) {
  return config.qk_norm ? to_hf(disk, name, config) : disk;
}

model::Transformer load_gguf_model(const std::filesystem::path& path) {
  const GgufFile file = GgufFile::open(path);
  const ModelConfig config = read_gguf_config(file);
  std::set<std::string> unused;
  for (const formats::GgufTensor& tensor : file.tensors()) unused.insert(tensor.name);
  std::vector<Tensor> values;
  for (const model::ParameterSpec& spec : model::parameter_specs(config)) {
    const HfPlace place = hf_place(spec.name);
    const formats::GgufTensor& stored = file.at(place.gguf_name());
    if (stored.shape != spec.shape) {
      throw Error(fmt::format("{}: tensor '{}': expected the shape [{}], found [{}]", path.string(), stored.name,
                              fmt::join(spec.shape, ", "), fmt::join(stored.shape, ", ")));
    }
    const Tensor theirs = decode_ggml(stored);
    const Tensor disk = config.qk_norm ? from_hf(theirs, *place.name, config) : theirs;
    values.push_back(model::pairs_to_halves(disk, spec.paired_dimensions));
    file.mapping()->release(stored.bytes);
    unused.erase(stored.name);
  }
  if (!unused.empty()) {
    throw Error(
        fmt::format("{}: the tensor '{}' has no place in a model of this kind", path.string(), *unused.begin()));
  }
  return model::make_transformer(config, values);
}

}  // namespace crope::interop
