#include "crope/interop/residual_rotation.h"

#include <ATen/ATen.h>

#include <algorithm>
#include <string_view>

#include "crope/model/complex_structure.h"
#include "crope/model/norm_gain.h"

namespace crope::interop {
namespace {

using torch::Tensor;

Tensor wide(const Tensor& x) {
  return x.detach().to(torch::kFloat64);
}

}  // namespace

Tensor best_rotation(const std::vector<Tensor>& matrices) {
  Tensor sum = model::orientation(matrices.at(0));
  for (std::size_t i = 1; i < matrices.size(); ++i) sum = sum + model::orientation(matrices[i]);
  return model::turn_to_given(model::best_structure(sum));
}

std::vector<Tensor> rows_with_gains(const model::Transformer& model) {
  std::vector<Tensor> matrices;
  for (const model::Block& block : model.blocks) {
    const Tensor gain = wide(model::expand_gain(block.attention_norm, model.config.d_model));
    for (const std::size_t projection : {0, 1}) {
      matrices.push_back(wide(ops::dense_matrix(block.attention.qkv[projection])) * gain);
    }
  }
  return matrices;
}

model::Transformer rotate_residual(const model::Transformer& model, const Tensor& R) {
  const int64_t D = model.config.d_model;
  model::ModelConfig config = model.config;
  config.norm_gain = model::Gain::free;
  config.tie_embeddings = false;
  const auto type = model.embedding.scalar_type();
  const auto read = [&](const Tensor& matrix, const Tensor& gain) {  // what reads the normalised stream
    return (wide(matrix) * wide(model::expand_gain(gain, D))).mm(R.t()).to(type);
  };
  std::vector<Tensor> values;
  std::size_t layer = 0;
  for (const model::Parameter& parameter : model.parameters) {
    const std::string_view name = parameter.spec.name;
    const model::Block& block = model.blocks[std::min(layer, model.blocks.size() - 1)];
    if (name.ends_with("q_norm.weight") || name.ends_with("k_norm.weight")) {
      values.push_back(parameter.value.detach());
    } else if (parameter.spec.role == model::Role::gain) {
      values.push_back(at::ones({D}, parameter.value.options().requires_grad(false)));
    } else if (name == "embedding.weight") {
      values.push_back(wide(parameter.value).mm(R.t()).to(type));
    } else if (name == "output.weight") {
      continue;  // below
    } else if (name.ends_with("attention.o.weight") || name.ends_with("down.weight")) {
      values.push_back(R.mm(wide(parameter.value)).to(type));
      if (name.ends_with("down.weight")) ++layer;  // the last of its block
    } else {
      const bool is_attention = parameter.spec.component == model::Component::attention;
      values.push_back(read(parameter.value, is_attention ? block.attention_norm : block.feed_forward_norm));
    }
  }
  values.push_back(read(model.output, model.norm));
  return model::make_transformer(config, values);
}

}  // namespace crope::interop
