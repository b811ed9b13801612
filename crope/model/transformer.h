// The decoder: embedding, pre-norm blocks, final norm, output projection (the embedding again, in the paper).
#pragma once

#include <torch/types.h>

#include <functional>
#include <optional>
#include <span>
#include <vector>

#include "crope/model/attention.h"
#include "crope/model/config.h"
#include "crope/model/feed_forward.h"
#include "crope/model/parameter_file.h"
#include "crope/model/parameters.h"
#include "crope/ops/linear_distillation.h"

namespace crope::model {

struct Block {
  torch::Tensor attention_norm;  // [D] or [D/2] (norm_gain.h)
  Attention attention;
  torch::Tensor feed_forward_norm;  // likewise
  FeedForward feed_forward;
};

struct Parameter {
  ParameterSpec spec;
  torch::Tensor value;  // in halves; undefined where the next is there
  std::optional<ops::QuantisedMatrix> quantised = {};
};

// A network and the list of its parameters. The two share their tensors: what an optimiser does to a parameter in
// place, the next forward pass sees. Copies share them too.
struct Transformer {
  ModelConfig config;
  std::vector<Parameter> parameters;  // in the order of parameter_specs
  torch::Tensor embedding;            // [V, D]; undefined where it is quantised (embedding_weight)
  std::vector<Block> blocks;
  torch::Tensor norm;    // [D] or [D/2]
  torch::Tensor output;  // [V, D]: the embedding, unless the model has an output projection of its own
};

// `values` are in the order of parameter_specs(config), in halves, all of one type and device.
// Throws Error if a shape differs from its spec.
Transformer make_transformer(const ModelConfig& config, std::span<const torch::Tensor> values);

// Makes a model with quantised matrices among its values: for generation, scoring and layer_input alone.
Transformer make_transformer(const ModelConfig& config, std::vector<StoredValue> values);

// The embedding and the output projection, plain or quantised.
ops::Weight embedding_weight(const Transformer& model);
ops::Weight output_weight(const Transformer& model);

// Where the model computes.
torch::Device device_of(const Transformer& model);

// Sets the factor of the conjugate-linear parts. REQUIRES: the model has them.
void set_conjugate_scale(Transformer& model, double scale);

// The model without its conjugate-linear parts: a tied one that shares the other tensors.
Transformer without_conjugates(const Transformer& model);

// Throws Error unless a sequence of T tokens has 1 to max_seq_len.
void check_length(const ModelConfig& config, std::int64_t T);

// The values of all parameters, in their order.
std::vector<torch::Tensor> parameter_values(const Transformer& model);

// Asks autograd for the gradients of all parameters, or for none.
void set_requires_grad(Transformer& model, bool requires_grad);

// The activations that a forward pass keeps for its gradient.
enum class Activations {
  kept,        // of every operation
  recomputed,  // the input of each block; the rest is computed again in the backward pass: less memory, a third more
               // time
};

// The normalised final features [B, T, D] of ids[B, T]. Throws Error if T is 0 or more than max_seq_len.
// REQUIRES: 0 <= ids < V.
torch::Tensor features(const Transformer& model, const torch::Tensor& ids, Activations activations = Activations::kept);

// Logits [B, T, V] of ids[B, T].
torch::Tensor logits(const Transformer& model, const torch::Tensor& ids);

// The mean loss of predicting tokens[:, 1:] from tokens[:, :-1]: tokens[B, T + 1].
torch::Tensor loss(const Transformer& model, const torch::Tensor& tokens, Activations activations = Activations::kept);

// loss() mixed with the divergence from a teacher of the same vocabulary (ops/linear_distillation.h). The teacher
// gets no gradients.
torch::Tensor distillation_loss(const Transformer& model, const torch::Tensor& tokens, const Transformer& teacher,
                                const ops::DistillationOptions& options, Activations activations = Activations::kept);

// -log p(ids[t] | ids[0..t-1]) for t = 1...: [T - 1] from ids[T], without gradients.
torch::Tensor token_losses(const Transformer& model, const torch::Tensor& ids);

// A block and what its attention reads, for looking inside a model: everything in fp32 at least.
struct LayerInput {
  Block block;
  torch::Tensor x;  // [B, T, D], normalised
  ops::RopeTable positions;
};

// The input of block `layer`, from ids[B, T], without gradients. Throws Error if T is 0 or more than max_seq_len.
// REQUIRES: 0 <= ids < V, 0 <= layer < num_layers.
LayerInput layer_input(const Transformer& model, const torch::Tensor& ids, std::int64_t layer);

// Visits the inputs of all layers, from the first to the last, in one forward pass.
void visit_layer_inputs(const Transformer& model, const torch::Tensor& ids,
                        const std::function<void(std::int64_t layer, const LayerInput&)>& visit);

}  // namespace crope::model
