#include "crope/interop/dense_tensors.h"

#include <ATen/ATen.h>

#include <array>

#include "crope/model/pair_layout.h"
#include "crope/model/tensor_file.h"
#include "crope/ops/block_linear.h"

namespace crope::interop {

using torch::Tensor;

bool DenseTensors::contains(const std::string& name) const {
  return file_.find(name + ".weight") != nullptr || file_.find(name + ".a") != nullptr;
}

Tensor DenseTensors::read(const std::string& name) const {
  const auto fp32 = [&](const std::string& full) { return model::view_tensor(file_, full).to(torch::kFloat32); };
  if (file_.find(name + ".weight") != nullptr) return fp32(name + ".weight");
  const ops::ComplexWeight pair{fp32(name + ".a"), fp32(name + ".b")};
  const std::array<int, 2> both = {0, 1};
  return model::halves_to_pairs(ops::expand(pair), both);
}

}  // namespace crope::interop
