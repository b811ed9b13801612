#include "crope/train/optimizer.h"

namespace crope::train {
namespace {

using model::Parameter;
using model::Role;

bool is_matrix(Role role) {
  return role == Role::matrix || role == Role::pair_a || role == Role::pair_b;
}

// A pair's b follows its a in the list of parameters.
std::vector<optim::MuonMatrix> muon_matrices(const std::vector<Parameter>& parameters, TiedPairs tied_pairs) {
  std::vector<optim::MuonMatrix> matrices;
  for (const Parameter& parameter : parameters) {
    if (!is_matrix(parameter.spec.role)) continue;
    if (parameter.spec.role == Role::pair_b && tied_pairs == TiedPairs::complex) {
      matrices.back().push_back(parameter.value);
    } else {
      matrices.push_back({parameter.value});
    }
  }
  return matrices;
}

std::vector<optim::AdamwTensor> adamw_tensors(const std::vector<Parameter>& parameters, double embedding_weight_decay) {
  std::vector<optim::AdamwTensor> tensors;
  for (const Parameter& parameter : parameters) {
    if (is_matrix(parameter.spec.role)) continue;
    tensors.push_back({parameter.value, parameter.spec.role == Role::embedding ? embedding_weight_decay : 0});
  }
  return tensors;
}

std::vector<std::string> names_where(const std::vector<Parameter>& parameters, bool matrices) {
  std::vector<std::string> names;
  for (const Parameter& parameter : parameters) {
    if (is_matrix(parameter.spec.role) == matrices) names.push_back(parameter.spec.name);
  }
  return names;
}

}  // namespace

Optimizer::Optimizer(const model::Transformer& model, const OptimizerOptions& options)
    : muon_names_(names_where(model.parameters, true)),
      adamw_names_(names_where(model.parameters, false)),
      muon_(muon_matrices(model.parameters, options.tied_pairs), options.muon),
      adamw_(adamw_tensors(model.parameters, options.embedding_weight_decay), options.adamw) {}

void Optimizer::step(double lr) {
  muon_.step(lr);
  adamw_.step(lr);
}

std::vector<NamedState> Optimizer::state() const {
  std::vector<NamedState> state;
  auto name = muon_names_.begin();
  for (const optim::MuonMatrix& buffers : muon_.momentum()) {
    for (const torch::Tensor& buffer : buffers) state.push_back({"muon.momentum." + *name++, buffer});
  }
  for (std::size_t i = 0; i < adamw_names_.size(); ++i) {
    state.push_back({"adamw.first." + adamw_names_[i], adamw_.first_moments()[i]});
    state.push_back({"adamw.second." + adamw_names_[i], adamw_.second_moments()[i]});
  }
  return state;
}

}  // namespace crope::train
