#include "crope/interop/dense_tensors.h"

#include <ATen/ATen.h>

#include <array>

#include "crope/model/norm_gain.h"
#include "crope/model/pair_layout.h"
#include "crope/ops/annealed_weight.h"
#include "crope/ops/block_linear.h"

namespace crope::interop {

using torch::Tensor;

namespace {

bool is_qk_norm(const std::string& name) {
  return name.ends_with(".q_norm") || name.ends_with(".k_norm");
}

// Blocks without minima: their scales change sign, the highest bit of the second byte.
Tensor negated_blocks(const Tensor& blocks) {
  Tensor negated = blocks.clone();
  negated.select(2, 1).bitwise_xor_(0x80);
  return negated;
}

}  // namespace

model::ModelConfig exported_config(const model::ModelConfig& config) {
  if (!config.conjugate_scale) return config;
  model::ModelConfig dense = config;
  dense.variant = model::Variant::rope;
  dense.norm_gain = model::Gain::free;
  if (dense.qk_norm) dense.qk_gain = model::Gain::free;
  dense.conjugate_scale.reset();
  return dense;
}

DenseTensors::DenseTensors(const std::filesystem::path& model_dir, const model::ModelConfig& config)
    : config_(config), file_(model_dir, model::parameter_specs(config)) {
  for (const model::ParameterSpec& spec : file_.specs()) specs_.emplace(spec.name, spec);
}

const model::ParameterSpec* DenseTensors::find(const std::string& parameter) const {
  const auto place = specs_.find(parameter);
  return place == specs_.end() ? nullptr : &place->second;
}

bool DenseTensors::contains(const std::string& name) const {
  if (is_qk_norm(name)) return config_.qk_norm;
  return find(name + ".weight") != nullptr || find(name + ".a") != nullptr;
}

Tensor DenseTensors::read(const std::string& name) const {
  const auto fp32 = [&](const std::string& full) { return file_.read_pairs(specs_.at(full)); };
  if (name.ends_with("norm")) {
    const std::int64_t width = is_qk_norm(name) ? config_.qk_width() : config_.d_model;
    if (is_qk_norm(name) && config_.qk_gain == model::Gain::none) return at::ones({width});
    return model::expand_adjacent_gain(fp32(name + ".weight"), width);
  }
  if (find(name + ".weight") != nullptr) return fp32(name + ".weight");
  const std::array<int, 2> both = {0, 1};
  const ops::ComplexWeight pair{fp32(name + ".a"), fp32(name + ".b")};
  if (!config_.conjugate_scale) return model::halves_to_pairs(ops::expand(pair), both);
  const ops::ComplexWeight conjugate{fp32(name + ".conjugate_a"), fp32(name + ".conjugate_b")};
  return model::halves_to_pairs(ops::annealed_matrix({pair, conjugate, *config_.conjugate_scale}), both);
}

std::optional<Tensor> DenseTensors::read_blocks(const std::string& name, ops::WeightType type) const {
  const auto blocks_of = [&](const std::string& full) -> std::optional<Tensor> {
    const model::ParameterSpec* spec = find(full);
    if (spec == nullptr || spec->role == model::Role::gain || spec->shape[1] % ops::kQuantisedBlock != 0) return {};
    const model::StoredValue value = file_.read_stored(*spec);
    const auto* matrix = std::get_if<ops::QuantisedMatrix>(&value);
    return matrix != nullptr && matrix->type == type ? std::optional(ops::to_blocks(*matrix)) : std::nullopt;
  };
  if (std::optional<Tensor> dense = blocks_of(name + ".weight")) return dense;
  const std::optional<Tensor> a = blocks_of(name + ".a"), b = blocks_of(name + ".b");
  if (!a || !b) return {};
  return at::cat({at::cat({*a, *b}, 1), at::cat({negated_blocks(*b), *a}, 1)});
}

}  // namespace crope::interop
