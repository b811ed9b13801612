#include "crope/interop/residual_rotation.h"

#include <ATen/ATen.h>

#include <string_view>

#include "crope/model/norm_gain.h"
#include "crope/ops/check.h"

namespace crope::interop {
namespace {

using torch::Tensor;

// Singular values below this share of the largest carry no orientation.
constexpr double kNoOrientation = 1e-10;

// D - 2k orthonormal rows that complete rows[2k, D].
Tensor completed(const Tensor& rows) {
  const int64_t D = rows.size(1), missing = D - rows.size(0);
  const Tensor rest = at::eye(D, rows.options()) - rows.t().mm(rows);
  const Tensor vectors = std::get<1>(at::linalg_eigh(rest));  // eigenvalues ascend: 0, then 1
  return vectors.narrow(1, D - missing, missing).t();
}

Tensor wide(const Tensor& x) {
  return x.detach().to(torch::kFloat64);
}

}  // namespace

Tensor best_rotation(const std::vector<Tensor>& matrices) {
  const int64_t D = matrices.at(0).size(1);
  Tensor skew = at::zeros({D, D}, torch::kFloat64);
  for (const Tensor& matrix : matrices) {
    ops::check_shape(matrix.dim() == 2 && matrix.size(0) % 2 == 0 && matrix.size(1) == D, "best_rotation", "matrix",
                     "[2M, D]", matrix);
    const std::vector<Tensor> rows = wide(matrix).chunk(2, 0);
    const Tensor product = rows[0].t().mm(rows[1]);
    skew += (product - product.t()) / 2;
  }
  // J is the orthogonal polar factor of -S. Its planes are spanned by the eigenvectors p + iq of the Hermitian iS with
  // negative eigenvalues: there J p = q and J q = -p, as [re, im] of tied projections have it.
  const auto [values, vectors] = at::linalg_eigh(at::complex(at::zeros_like(skew), skew));
  const double largest = values.abs().max().item<double>();
  const int64_t planes = (values < -kNoOrientation * largest).sum().item<int64_t>();
  const Tensor turned = vectors.narrow(1, 0, planes) * std::sqrt(2.0);
  const Tensor p = at::real(turned).t(), q = at::imag(turned).t();
  const std::vector<Tensor> rest = completed(at::cat({p, q})).chunk(2, 0);
  if (planes == D / 2) return at::cat({p, q});
  return at::cat({p, rest[0], q, rest[1]});
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
