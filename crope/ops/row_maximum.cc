#include "crope/ops/row_maximum.h"

#include "crope/ops/device.h"

namespace crope::ops {

RowMaximum row_maximum(std::span<const float> logits) {
  RowMaximum result;
  const auto N = static_cast<std::int64_t>(logits.size());
  inference_kernels(torch::kCPU, torch::kFloat32).row_maxima({{logits.data(), 1, N, N}, {&result, 1}});
  return result;
}

std::vector<RowMaximum> row_maxima(const torch::Tensor& logits) {
  std::vector<RowMaximum> results(static_cast<std::size_t>(logits.size(0)));
  inference_kernels(logits.device(), logits.scalar_type()).row_maxima({view(logits), results});
  return results;
}

}  // namespace crope::ops
