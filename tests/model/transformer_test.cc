#include "crope/model/transformer.h"

#include <ATen/autocast_mode.h>

#include "crope/base/error.h"
#include "crope/model/init.h"
#include "crope/ops/rms_norm.h"
#include "tests/tensor_checks.h"

namespace crope::model {
namespace {

using torch::Tensor;

ModelConfig tiny_config(Variant variant) {
  ModelConfig config;
  config.vocab_size = 11;
  config.num_layers = 2;
  config.num_heads = 2;
  config.d_model = 16;
  config.d_ff = 12;
  config.max_seq_len = 8;
  config.variant = variant;
  return config;
}

TEST(Transformer, TheLossIsTheMeanOfTheTokenLosses) {
  const Transformer model = make_random_transformer(tiny_config(Variant::crope_qkv), {}, torch::kFloat64);
  const Tensor tokens = at::randint(11, {1, 9}, torch::kInt64);
  test::expect_close(loss(model, tokens), token_losses(model, tokens[0]).mean(), 1e-12);
}

TEST(Transformer, RowsOfABatchDoNotMix) {
  const Transformer model = make_random_transformer(tiny_config(Variant::crope_all), {}, torch::kFloat64);
  const Tensor ids = at::randint(11, {3, 8}, torch::kInt64);
  test::expect_close(logits(model, ids)[1], logits(model, ids.narrow(0, 1, 1))[0], 1e-12);
}

TEST(Transformer, ParametersAreShared) {
  Transformer model = make_random_transformer(tiny_config(Variant::crope_all));
  const Tensor ids = at::zeros({1, 3}, torch::kInt64);
  const Tensor before = logits(model, ids);
  for (Parameter& parameter : model.parameters) parameter.value.mul_(1.5);
  EXPECT_GT(test::relative_error(logits(model, ids), before), 0.1);
}

TEST(Transformer, RefusesSequencesOutsideTheWindow) {
  const Transformer model = make_random_transformer(tiny_config(Variant::rope));
  EXPECT_THROW(logits(model, at::zeros({1, 9}, torch::kInt64)), Error);
  EXPECT_THROW(logits(model, at::zeros({1, 0}, torch::kInt64)), Error);
  EXPECT_EQ(token_losses(model, at::zeros({1}, torch::kInt64)).numel(), 0);
}

TEST(Transformer, RefusesParametersOfAnotherShape) {
  const ModelConfig config = tiny_config(Variant::rope);
  std::vector<Tensor> values;
  for (const ParameterSpec& spec : parameter_specs(config)) values.push_back(at::zeros(spec.shape));
  EXPECT_NO_THROW(make_transformer(config, values));
  values[3] = at::zeros({1, 2});
  EXPECT_THROW(make_transformer(config, values), Error);
  values.pop_back();
  EXPECT_THROW(make_transformer(config, values), Error);
}

// The layers behind the given one are run by hand on what it returns.
TEST(Transformer, WhatALayerReadsLeadsToTheLogits) {
  for (const VariantTraits& row : kVariants) {
    const Transformer model = make_random_transformer(tiny_config(row.variant), {}, torch::kFloat64);
    const Tensor ids = at::randint(11, {2, 8}, torch::kInt64);
    const LayerInput last = layer_input(model, ids, 1);
    // The sum of which x is the norm: first layer by hand.
    const LayerInput first = layer_input(model, ids, 0);
    Tensor h = at::embedding(model.embedding, ids);
    h = h + forward(first.block.attention, first.x, first.positions);
    h = h + forward(first.block.feed_forward, ops::rms_norm(h, first.block.feed_forward_norm, 1e-6));
    test::expect_close(last.x, ops::rms_norm(h, last.block.attention_norm, 1e-6), 1e-12, std::string(row.name));
    h = h + forward(last.block.attention, last.x, last.positions);
    h = h + forward(last.block.feed_forward, ops::rms_norm(h, last.block.feed_forward_norm, 1e-6));
    test::expect_close(ops::rms_norm(h, model.norm, 1e-6), features(model, ids), 1e-12, std::string(row.name));
    int64_t visited = 0;
    visit_layer_inputs(model, ids, [&](int64_t layer, const LayerInput& input) {
      EXPECT_EQ(layer, visited++);
      EXPECT_TRUE(at::equal(input.x, layer == 0 ? first.x : last.x)) << row.name << layer;
    });
    EXPECT_EQ(visited, 2);
  }
}

TEST(Transformer, WhatALayerReadsIsWideForNarrowWeights) {
  const Transformer model = make_random_transformer(tiny_config(Variant::crope_all), {}, torch::kFloat);
  std::vector<Tensor> narrow, wide;
  for (const Parameter& parameter : model.parameters) {
    narrow.push_back(parameter.value.to(torch::kBFloat16));
    wide.push_back(narrow.back().to(torch::kFloat));
  }
  const Tensor ids = at::randint(11, {1, 8}, torch::kInt64);
  const LayerInput got = layer_input(make_transformer(model.config, narrow), ids, 1);
  EXPECT_EQ(got.x.scalar_type(), torch::kFloat);
  EXPECT_TRUE(at::equal(got.x, layer_input(make_transformer(model.config, wide), ids, 1).x));
}

test::TensorList gradients_of(const Tensor& value, const Transformer& model) {
  test::TensorList leaves;
  for (const Parameter& parameter : model.parameters) leaves.push_back(parameter.value);
  return torch::autograd::grad({value}, leaves);
}

TEST(Transformer, RecomputingChangesNothing) {
  for (const VariantTraits& row : kVariants) {
    Transformer model = make_random_transformer(tiny_config(row.variant));
    set_requires_grad(model, true);
    const Tensor tokens = at::randint(11, {2, 9}, torch::kInt64);
    const Tensor kept = loss(model, tokens), recomputed = loss(model, tokens, Activations::recomputed);
    EXPECT_TRUE(at::equal(kept, recomputed));
    const test::TensorList expected = gradients_of(kept, model), got = gradients_of(recomputed, model);
    for (std::size_t i = 0; i < got.size(); ++i) {
      EXPECT_TRUE(at::equal(got[i], expected[i])) << row.name << " " << model.parameters[i].spec.name;
    }
  }
}

// ATen's autocast around the whole loss, as mixed precision uses it. The gradient is compared as one vector: that of a
// small gain by itself is a sum of terms that cancel, of which bf16 leaves little.
TEST(Transformer, Bf16IsNearFp32) {
  at::manual_seed(7);
  for (const Variant variant : {Variant::rope, Variant::crope_all, Variant::half_rope_qk}) {
    Transformer model = make_random_transformer(tiny_config(variant), {.embedding_std = 1.0});
    set_requires_grad(model, true);
    const Tensor tokens = at::randint(11, {4, 9}, torch::kInt64);
    const Tensor exact = loss(model, tokens);
    const test::TensorList expected = gradients_of(exact, model);
    for (const Activations activations : {Activations::kept, Activations::recomputed}) {
      at::autocast::set_autocast_dtype(at::kCPU, at::kBFloat16);
      at::autocast::set_autocast_enabled(at::kCPU, true);
      const Tensor rough = loss(model, tokens, activations);
      at::autocast::clear_cache();
      at::autocast::set_autocast_enabled(at::kCPU, false);
      EXPECT_EQ(rough.scalar_type(), torch::kFloat32);
      test::expect_close(rough, exact, 1e-2);
      const test::TensorList got = gradients_of(rough, model);
      test::TensorList flat, flat_expected;
      for (std::size_t i = 0; i < got.size(); ++i) {
        EXPECT_EQ(got[i].scalar_type(), torch::kFloat32);
        flat.push_back(got[i].flatten());
        flat_expected.push_back(expected[i].flatten());
      }
      test::expect_close(at::cat(flat), at::cat(flat_expected), 2e-2);
    }
  }
}

}  // namespace
}  // namespace crope::model
