#include "crope/interop/gguf_model.h"

#include <ATen/ATen.h>
#include <fmt/format.h>
#include <fmt/ranges.h>

#include "crope/base/error.h"
#include "crope/interop/ggml_blocks.h"
#include "crope/interop/gguf_order.h"
#include "crope/model/pair_layout.h"
#include "crope/model/quantise.h"

namespace crope::interop {
namespace {

using formats::GgufTensor;
using model::ModelConfig;
using torch::Tensor;

constexpr const char* kGgufEmbedding = "token_embd.weight";
constexpr const char* kGgufOutput = "output.weight";

GgufShape shape_of(const GgufFiles& files) {
  GgufShape shape{.vocab_size = files.at(kGgufEmbedding).shape.front(), .tied = files.find(kGgufOutput) == nullptr};
  if (const GgufTensor* stored = files.find(kGgufRopeFactors)) {
    const Tensor factors = decode_ggml(*stored, files.head().path().string()).flatten();
    shape.rope_factors.assign(factors.const_data_ptr<float>(), factors.const_data_ptr<float>() + factors.numel());
  }
  return shape;
}

}  // namespace

Tensor to_gguf(const Tensor& disk, const HfName& name, const ModelConfig& config) {
  return config.qk_norm ? to_hf(disk, name, config) : disk;
}

GgufModel::GgufModel(const std::filesystem::path& path)
    : files_(path), config_(read_gguf_config(files_.head(), shape_of(files_))) {
  const std::string origin = head().path().string();
  std::set<std::string> unused = files_.names();
  unused.erase(kGgufRopeFactors);
  for (const model::ParameterSpec& spec : model::parameter_specs(config_)) {
    const GgufTensor& stored = files_.at(hf_place(spec.name).gguf_name());
    if (stored.shape != spec.shape) {
      throw Error(fmt::format("{}: tensor '{}': expected the shape [{}], found [{}]", origin, stored.name,
                              fmt::join(spec.shape, ", "), fmt::join(stored.shape, ", ")));
    }
    unused.erase(stored.name);
  }
  if (!unused.empty()) {
    throw Error(fmt::format("{}: the tensor '{}' has no place in a model of this kind", origin, *unused.begin()),
                "biases and other extra parameters are not supported");
  }
}

Tensor GgufModel::read(const model::ParameterSpec& spec) const {
  const HfPlace place = hf_place(spec.name);
  const GgufTensor& stored = files_.at(place.gguf_name());
  const Tensor theirs = decode_ggml(stored, head().path().string());
  files_.release(stored);
  return config_.qk_norm ? from_hf(theirs, *place.name, config_) : theirs;
}

model::StoredValue GgufModel::read_stored(const model::ParameterSpec& spec, std::vector<std::string>& rounded) const {
  const HfPlace place = hf_place(spec.name);
  const GgufTensor& stored = files_.at(place.gguf_name());
  const std::string origin = fmt::format("{}: tensor '{}'", head().path().string(), stored.name);
  const auto type = weight_type_of(stored.type);
  if (type && spec.role != model::Role::gain && keeps_blocks(*place.name, config_)) {
    const Tensor bytes =
        at::from_blob(stored.bytes.data(), ops::block_shape(*type, spec.shape[0], spec.shape[1]), at::kByte);
    const Tensor ours = from_gguf_halves(bytes, *place.name, config_);
    try {
      auto matrix = ops::from_blocks(ours, *type, spec.shape[1]);
      files_.release(stored);
      return matrix;
    } catch (const Error& e) {
      throw Error(fmt::format("{}: {}", origin, e.what()), e.hint());
    }
  }
  const Tensor values = from_gguf_halves(decode_ggml(stored, head().path().string()), *place.name, config_);
  files_.release(stored);
  if (spec.role == model::Role::gain) return values;
  rounded.push_back(stored.name);
  return model::quantised_value(spec, values, ops::WeightType::int8, head().path().string());
}

model::Transformer load_gguf_model(const std::filesystem::path& path) {
  const GgufModel model(path);
  std::vector<Tensor> values;
  for (const model::ParameterSpec& spec : model::parameter_specs(model.config())) {
    values.push_back(model::pairs_to_halves(model.read(spec), spec.paired_dimensions));
  }
  return model::make_transformer(model.config(), values);
}

}  // namespace crope::interop
