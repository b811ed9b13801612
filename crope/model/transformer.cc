#include "crope/model/transformer.h"

#include <ATen/ATen.h>
#include <fmt/format.h>
#include <fmt/ranges.h>

#include "crope/base/error.h"
#include "crope/ops/linear_cross_entropy.h"
#include "crope/ops/rms_norm.h"

namespace crope::model {
namespace {

using torch::Tensor;

// Takes parameters in the order of parameter_specs. The order is the contract; the names confirm it.
class ParameterReader {
 public:
  explicit ParameterReader(const std::vector<Parameter>& parameters) : parameters_(parameters) {}

  Tensor take(std::string_view suffix) {
    const Parameter& parameter = parameters_.at(next_++);
    TORCH_INTERNAL_ASSERT(parameter.spec.name.ends_with(suffix), parameter.spec.name);
    return parameter.value;
  }

  Projection take_projection(const std::string& name) {
    if (parameters_.at(next_).spec.role != Role::pair_a) return DenseWeight{take(name + ".weight")};
    Tensor a = take(name + ".a");
    return ops::ComplexWeight{std::move(a), take(name + ".b")};
  }

 private:
  const std::vector<Parameter>& parameters_;
  std::size_t next_ = 0;
};

Block read_block(ParameterReader& reader, const ModelConfig& config) {
  Block block;
  block.attention_norm = reader.take("attention_norm.weight");
  block.attention.qkv = {reader.take_projection("q"), reader.take_projection("k"), reader.take_projection("v")};
  if (config.qk_norm) {
    block.attention.q_norm = reader.take("q_norm.weight");
    block.attention.k_norm = reader.take("k_norm.weight");
  }
  block.attention.o = reader.take_projection("o");
  block.attention.num_heads = config.num_heads;
  block.attention.norm_eps = config.norm_eps;
  block.feed_forward_norm = reader.take("feed_forward_norm.weight");
  block.feed_forward = {reader.take_projection("gate"), reader.take_projection("up"), reader.take_projection("down")};
  return block;
}

}  // namespace

Transformer make_transformer(const ModelConfig& config, std::span<const Tensor> values) {
  Transformer model;
  model.config = config;
  std::vector<ParameterSpec> specs = parameter_specs(config);
  if (specs.size() != values.size()) {
    throw Error(fmt::format("[make_transformer] expected {} parameters, got {}", specs.size(), values.size()));
  }
  for (std::size_t i = 0; i < specs.size(); ++i) {
    if (values[i].sizes() != at::IntArrayRef(specs[i].shape)) {
      throw Error(fmt::format("[make_transformer] {}: expected [{}], got [{}]", specs[i].name,
                              fmt::join(specs[i].shape, ", "), fmt::join(values[i].sizes(), ", ")));
    }
    model.parameters.push_back({std::move(specs[i]), values[i]});
  }
  ParameterReader reader(model.parameters);
  model.embedding = reader.take("embedding.weight");
  for (int64_t layer = 0; layer < config.num_layers; ++layer) model.blocks.push_back(read_block(reader, config));
  model.norm = reader.take("norm.weight");
  model.output = config.tie_embeddings ? model.embedding : reader.take("output.weight");
  return model;
}

void set_requires_grad(Transformer& model, bool requires_grad) {
  for (Parameter& parameter : model.parameters) parameter.value.requires_grad_(requires_grad);
}

Tensor features(const Transformer& model, const Tensor& ids) {
  const ModelConfig& config = model.config;
  const int64_t T = ids.size(1);
  if (T < 1 || T > config.max_seq_len) {
    throw Error(fmt::format("a sequence of {} tokens: expected 1 to {} (max_seq_len)", T, config.max_seq_len));
  }
  const Tensor positions = at::arange(T, ids.options().dtype(torch::kInt64));
  const ops::RopeTable table =
      ops::rope_table(positions, config.qk_width(), config.rope_theta, model.embedding.options());
  Tensor h = at::embedding(model.embedding, ids);  // [B, T, D]
  for (const Block& block : model.blocks) {
    h = h + forward(block.attention, ops::rms_norm(h, block.attention_norm, config.norm_eps), table);
    h = h + forward(block.feed_forward, ops::rms_norm(h, block.feed_forward_norm, config.norm_eps));
  }
  return ops::rms_norm(h, model.norm, config.norm_eps);
}

Tensor logits(const Transformer& model, const Tensor& ids) {
  return at::linear(features(model, ids), model.output);
}

Tensor loss(const Transformer& model, const Tensor& tokens) {
  const int64_t T = tokens.size(1) - 1;
  const Tensor h = features(model, tokens.narrow(1, 0, T));
  const Tensor targets = tokens.narrow(1, 1, T).reshape({-1});
  return ops::linear_cross_entropy(h.reshape({-1, model.config.d_model}), model.output, targets);
}

Tensor token_losses(const Transformer& model, const Tensor& ids) {
  const at::NoGradGuard no_grad;
  const int64_t T = ids.size(0) - 1;
  if (T < 1) return at::empty({0}, model.embedding.options());
  const Tensor h = features(model, ids.narrow(0, 0, T).unsqueeze(0)).squeeze(0);
  return ops::linear_token_losses(h, model.output, ids.narrow(0, 1, T));
}

}  // namespace crope::model
