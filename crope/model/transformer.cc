#include "crope/model/transformer.h"

#include <ATen/ATen.h>
#include <fmt/format.h>
#include <fmt/ranges.h>

#include "crope/base/error.h"
#include "crope/model/norm_gain.h"
#include "crope/ops/embedding.h"
#include "crope/ops/linear_cross_entropy.h"
#include "crope/ops/recompute.h"
#include "crope/ops/rms_norm.h"

namespace crope::model {
namespace {

using torch::Tensor;

ops::Weight weight_of(const Parameter& parameter) {
  if (parameter.quantised) return ops::QuantisedWeight{*parameter.quantised, {}};
  return ops::DenseWeight{parameter.value};
}

// Takes parameters in the order of parameter_specs. The order is the contract; the names confirm it.
class ParameterReader {
 public:
  ParameterReader(const std::vector<Parameter>& parameters, std::optional<double> conjugate_scale)
      : parameters_(parameters), conjugate_scale_(conjugate_scale) {}

  const Parameter& next(std::string_view suffix) {
    const Parameter& parameter = parameters_.at(next_++);
    TORCH_INTERNAL_ASSERT(parameter.spec.name.ends_with(suffix), parameter.spec.name);
    return parameter;
  }

  Tensor take(std::string_view suffix) { return next(suffix).value; }

  ops::Weight take_weight(const std::string& name) {
    if (parameters_.at(next_).spec.role != Role::pair_a) return weight_of(next(name + ".weight"));
    const Parameter &a = next(name + ".a"), &b = next(name + ".b");
    if (a.quantised.has_value() != b.quantised.has_value()) {
      throw Error(fmt::format("{} and {}: only one of them is quantised", a.spec.name, b.spec.name));
    }
    if (a.quantised) return ops::QuantisedWeight{*a.quantised, *b.quantised};
    const ops::ComplexWeight linear{a.value, b.value};
    if (!conjugate_scale_) return linear;
    const Tensor conjugate_a = take(name + ".conjugate_a"), conjugate_b = take(name + ".conjugate_b");
    return ops::AnnealedWeight{linear, {conjugate_a, conjugate_b}, *conjugate_scale_};
  }

 private:
  const std::vector<Parameter>& parameters_;
  std::optional<double> conjugate_scale_;
  std::size_t next_ = 0;
};

// `ones` [K] is the gain of a QK-norm that has no parameters.
Block read_block(ParameterReader& reader, const ModelConfig& config, const Tensor& ones) {
  Block block;
  block.attention_norm = reader.take("attention_norm.weight");
  block.attention.qkv = {reader.take_weight("q"), reader.take_weight("k"), reader.take_weight("v")};
  if (config.qk_norm && config.qk_gain != Gain::none) {
    block.attention.q_norm = reader.take("q_norm.weight");
    block.attention.k_norm = reader.take("k_norm.weight");
  } else if (config.qk_norm) {
    block.attention.q_norm = block.attention.k_norm = ones;
  }
  block.attention.o = reader.take_weight("o");
  block.attention.num_heads = config.num_heads;
  block.attention.num_kv_heads = config.kv_heads();
  block.attention.norm_eps = config.norm_eps;
  block.feed_forward_norm = reader.take("feed_forward_norm.weight");
  block.feed_forward = {reader.take_weight("gate"), reader.take_weight("up"), reader.take_weight("down")};
  return block;
}

}  // namespace

Transformer make_transformer(const ModelConfig& config, std::span<const Tensor> values) {
  return make_transformer(config, std::vector<StoredValue>(values.begin(), values.end()));
}

Transformer make_transformer(const ModelConfig& config, std::vector<StoredValue> values) {
  Transformer model;
  model.config = config;
  std::vector<ParameterSpec> specs = parameter_specs(config);
  if (specs.size() != values.size()) {
    throw Error(fmt::format("[make_transformer] expected {} parameters, got {}", specs.size(), values.size()));
  }
  for (std::size_t i = 0; i < specs.size(); ++i) {
    Parameter parameter{.spec = std::move(specs[i])};
    std::vector<int64_t> shape;
    if (auto* quantised = std::get_if<ops::QuantisedMatrix>(&values[i])) {
      shape = {quantised->M, quantised->N};
      parameter.quantised = std::move(*quantised);
    } else {
      parameter.value = std::move(std::get<Tensor>(values[i]));
      shape = parameter.value.sizes().vec();
    }
    if (shape != parameter.spec.shape) {
      throw Error(fmt::format("[make_transformer] {}: expected [{}], got [{}]", parameter.spec.name,
                              fmt::join(parameter.spec.shape, ", "), fmt::join(shape, ", ")));
    }
    model.parameters.push_back(std::move(parameter));
  }
  ParameterReader reader(model.parameters, config.conjugate_scale);
  model.embedding = reader.take("embedding.weight");
  const auto options = model.embedding.defined() ? model.embedding.options() : torch::TensorOptions(at::kFloat);
  const Tensor ones = at::ones({config.qk_width()}, options);
  for (int64_t layer = 0; layer < config.num_layers; ++layer) model.blocks.push_back(read_block(reader, config, ones));
  model.norm = reader.take("norm.weight");
  model.output = config.tie_embeddings ? model.embedding : reader.take("output.weight");
  return model;
}

void set_conjugate_scale(Transformer& model, double scale) {
  model.config.conjugate_scale = scale;
  for (Block& block : model.blocks) {
    Attention& attention = block.attention;
    for (ops::Weight* weight : {&attention.qkv[0], &attention.qkv[1], &attention.qkv[2], &attention.o}) {
      if (auto* annealed = std::get_if<ops::AnnealedWeight>(weight)) annealed->scale = scale;
    }
  }
}

Transformer without_conjugates(const Transformer& model) {
  ModelConfig config = model.config;
  config.conjugate_scale.reset();
  std::vector<Tensor> values;
  for (const Parameter& parameter : model.parameters) {
    if (!is_conjugate(parameter.spec.name)) values.push_back(parameter.value);
  }
  return make_transformer(config, values);
}

ops::Weight embedding_weight(const Transformer& model) {
  return weight_of(model.parameters.front());
}

ops::Weight output_weight(const Transformer& model) {
  return weight_of(model.config.tie_embeddings ? model.parameters.front() : model.parameters.back());
}

torch::Device device_of(const Transformer& model) {
  return model.norm.device();
}

std::vector<Tensor> parameter_values(const Transformer& model) {
  std::vector<Tensor> values;
  for (const Parameter& parameter : model.parameters) values.push_back(parameter.value);
  return values;
}

void set_requires_grad(Transformer& model, bool requires_grad) {
  for (Parameter& parameter : model.parameters) parameter.value.requires_grad_(requires_grad);
}

namespace {

// The residual stream before its last addition is made: x + added. The addition belongs to the norm that follows.
struct Stream {
  Tensor x;
  Tensor added;  // undefined in front of the first block
};

ops::SumAndNorm add_and_norm(const Stream& h, const Tensor& gain, double eps) {
  const Tensor full_gain = expand_gain(gain, h.x.size(-1));
  if (!h.added.defined()) return {h.x, ops::rms_norm(h.x, full_gain, eps)};
  return ops::add_rms_norm(h.x, h.added, full_gain, eps);
}

Stream forward(const Block& block, const Stream& h, const ops::RopeTable& table, double eps) {
  const ops::SumAndNorm before = add_and_norm(h, block.attention_norm, eps);
  const Tensor attended = forward(block.attention, before.norm, table);
  const ops::SumAndNorm between = add_and_norm({before.sum, attended}, block.feed_forward_norm, eps);
  return {between.sum, forward(block.feed_forward, between.norm)};
}

std::array<ops::Weight*, 7> weights_of(Block& block) {
  Attention& attention = block.attention;
  FeedForward& feed_forward = block.feed_forward;
  return {&attention.qkv[0],  &attention.qkv[1], &attention.qkv[2], &attention.o,
          &feed_forward.gate, &feed_forward.up,  &feed_forward.down};
}

// The block's parameters are inputs of the recomputation, so that their gradients come out of it.
std::vector<Tensor*> parameters_of(Block& block) {
  std::vector<Tensor*> parameters = {&block.attention_norm, &block.feed_forward_norm};
  Attention& attention = block.attention;
  for (ops::Weight* weight : weights_of(block)) {
    const std::vector<Tensor*> tensors = ops::tensors_of(*weight);
    parameters.insert(parameters.end(), tensors.begin(), tensors.end());
  }
  if (attention.q_norm.defined()) parameters.insert(parameters.end(), {&attention.q_norm, &attention.k_norm});
  return parameters;
}

Stream forward_recomputed(const Block& block, const Stream& h, const ops::RopeTable& table, double eps) {
  Block copy = block;
  std::vector<Tensor> inputs = {h.x, h.added};
  for (const Tensor* parameter : parameters_of(copy)) inputs.push_back(*parameter);
  const auto run = [copy, table, eps](const std::vector<Tensor>& in) mutable -> std::vector<Tensor> {
    const std::vector<Tensor*> parameters = parameters_of(copy);
    for (std::size_t i = 0; i < parameters.size(); ++i) *parameters[i] = in[i + 2];
    const Stream out = forward(copy, {in[0], in[1]}, table, eps);
    for (Tensor* parameter : parameters) *parameter = Tensor();
    return {out.x, out.added};
  };
  const std::vector<Tensor> out = ops::recomputed(inputs, run);
  return {out[0], out[1]};
}

// The features of rows of the embedding, h[B, T, D].
Tensor features_of(const Transformer& model, const Tensor& embedded, Activations activations) {
  const ModelConfig& config = model.config;
  const ops::RopeTable table = rope_table(config, embedded.size(1), model.embedding.options());
  Stream h{embedded, {}};
  for (const Block& block : model.blocks) {
    h = activations == Activations::recomputed ? forward_recomputed(block, h, table, config.norm_eps)
                                               : forward(block, h, table, config.norm_eps);
  }
  return add_and_norm(h, model.norm, config.norm_eps).norm;
}

}  // namespace

void check_length(const ModelConfig& config, int64_t T) {
  if (T >= 1 && T <= config.max_seq_len) return;
  throw Error(fmt::format("a sequence of {} tokens: expected 1 to {} (max_seq_len)", T, config.max_seq_len));
}

Tensor features(const Transformer& model, const Tensor& ids, Activations activations) {
  check_length(model.config, ids.size(1));
  return features_of(model, at::embedding(model.embedding, ids), activations);
}

Tensor logits(const Transformer& model, const Tensor& ids) {
  return at::linear(features(model, ids), model.output);
}

namespace {

// What the loss of a batch of tokens[B, T + 1] is made of.
struct Prediction {
  Tensor ids;      // [B, T]
  Tensor h;        // [B T, D], normalised
  Tensor weight;   // [V, D]
  Tensor targets;  // [B T]
};

Prediction predict(const Transformer& model, const Tensor& tokens, Activations activations) {
  const int64_t T = tokens.size(1) - 1;
  check_length(model.config, T);
  const Tensor ids = tokens.narrow(1, 0, T), targets = tokens.narrow(1, 1, T).reshape({-1});
  ops::TiedEmbedding embedding;
  if (model.config.tie_embeddings) {
    embedding = ops::tied_embedding(model.embedding, ids);
  } else {
    embedding = {at::embedding(model.embedding, ids), model.output};
  }
  const Tensor h = features_of(model, embedding.rows, activations);
  return {ids, h.reshape({-1, model.config.d_model}), embedding.weight, targets};
}

}  // namespace

Tensor loss(const Transformer& model, const Tensor& tokens, Activations activations) {
  const Prediction prediction = predict(model, tokens, activations);
  return ops::linear_cross_entropy(prediction.h, prediction.weight, prediction.targets);
}

Tensor distillation_loss(const Transformer& model, const Tensor& tokens, const Transformer& teacher,
                         const ops::DistillationOptions& options, Activations activations) {
  const Prediction prediction = predict(model, tokens, activations);
  Tensor taught;
  {
    const at::NoGradGuard no_grad;
    taught = features(teacher, prediction.ids).reshape({-1, teacher.config.d_model});
  }
  return ops::linear_distillation(prediction.h, prediction.weight, prediction.targets, {taught, teacher.output},
                                  options);
}

Tensor token_losses(const Transformer& model, const Tensor& ids) {
  const at::NoGradGuard no_grad;
  const int64_t T = ids.size(0) - 1;
  if (T < 1) return at::empty({0}, model.embedding.options());
  const Tensor h = features(model, ids.narrow(0, 0, T).unsqueeze(0)).squeeze(0);
  return ops::linear_token_losses(h, model.output, ids.narrow(0, 1, T));
}

namespace {

// Layers 0 to `last`; only what `visit` is called with is normalised.
void walk_layer_inputs(const Transformer& model, const Tensor& ids, int64_t first_visited, int64_t last,
                       const std::function<void(int64_t, LayerInput)>& visit) {
  const at::NoGradGuard no_grad;
  const ModelConfig& config = model.config;
  check_length(config, ids.size(1));
  const auto type = at::promote_types(model.norm.scalar_type(), at::kFloat);
  Stream h{ops::look_up(embedding_weight(model), ids).to(type), {}};
  const ops::RopeTable table = rope_table(config, ids.size(1), h.x.options());
  for (int64_t i = 0; i <= last; ++i) {
    Block block = model.blocks.at(static_cast<std::size_t>(i));
    for (ops::Weight* weight : weights_of(block)) *weight = ops::widened(*weight);
    for (Tensor* parameter : parameters_of(block)) *parameter = parameter->to(type);
    if (i >= first_visited) visit(i, {block, add_and_norm(h, block.attention_norm, config.norm_eps).norm, table});
    if (i < last) h = forward(block, h, table, config.norm_eps);
  }
}

}  // namespace

LayerInput layer_input(const Transformer& model, const Tensor& ids, int64_t layer) {
  LayerInput result;
  walk_layer_inputs(model, ids, layer, layer, [&](int64_t, LayerInput input) { result = std::move(input); });
  return result;
}

void visit_layer_inputs(const Transformer& model, const Tensor& ids,
                        const std::function<void(int64_t, const LayerInput&)>& visit) {
  walk_layer_inputs(model, ids, 0, model.config.num_layers - 1, visit);
}

}  // namespace crope::model
