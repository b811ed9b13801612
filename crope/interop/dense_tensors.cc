#include "crope/interop/dense_tensors.h"

#include <ATen/ATen.h>

#include <array>

#include "crope/model/norm_gain.h"
#include "crope/model/pair_layout.h"
#include "crope/model/tensor_file.h"
#include "crope/ops/annealed_weight.h"

namespace crope::interop {

using torch::Tensor;

namespace {

bool is_qk_norm(const std::string& name) {
  return name.ends_with(".q_norm") || name.ends_with(".k_norm");
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

bool DenseTensors::contains(const std::string& name) const {
  if (is_qk_norm(name)) return config_.qk_norm;
  return file_.find(name + ".weight") != nullptr || file_.find(name + ".a") != nullptr;
}

Tensor DenseTensors::read(const std::string& name) const {
  const auto fp32 = [&](const std::string& full) { return model::view_tensor(file_, full).to(torch::kFloat32); };
  if (name.ends_with("norm")) {
    const std::int64_t width = is_qk_norm(name) ? config_.qk_width() : config_.d_model;
    if (is_qk_norm(name) && config_.qk_gain == model::Gain::none) return at::ones({width});
    return model::expand_adjacent_gain(fp32(name + ".weight"), width);
  }
  if (file_.find(name + ".weight") != nullptr) return fp32(name + ".weight");
  const std::array<int, 2> both = {0, 1};
  const ops::ComplexWeight pair{fp32(name + ".a"), fp32(name + ".b")};
  if (!config_.conjugate_scale) return model::halves_to_pairs(ops::expand(pair), both);
  const ops::ComplexWeight conjugate{fp32(name + ".conjugate_a"), fp32(name + ".conjugate_b")};
  return model::halves_to_pairs(ops::annealed_matrix({pair, conjugate, *config_.conjugate_scale}), both);
}

}  // namespace crope::interop
