#include "crope/interop/export_check.h"

#include <ATen/ATen.h>
#include <fmt/format.h>

#include <algorithm>
#include <vector>

#include "crope/base/error.h"
#include "crope/base/random.h"

namespace crope::interop {

using torch::Tensor;

Tensor probe_logits(const model::Transformer& model) {
  const at::NoGradGuard no_grad;
  RandomStream random(0, "export probe");
  std::vector<int64_t> ids;
  for (int64_t t = 0; t < std::min<int64_t>(model.config.max_seq_len, 64); ++t) {
    ids.push_back(static_cast<int64_t>(random.below(static_cast<std::uint64_t>(model.config.vocab_size))));
  }
  return model::logits(model, at::tensor(ids, torch::kInt64).unsqueeze(0));
}

double export_tolerance(torch::ScalarType type) {
  if (type == torch::kBFloat16) return kCoarseTolerance;
  return type == torch::kFloat16 ? kFp16Tolerance : kFp32Tolerance;
}

ExportReport compare_logits(const Tensor& expected, const Tensor& got, double tolerance,
                            const std::filesystem::path& model_dir, const std::filesystem::path& written) {
  ExportReport report{.path = written,
                      .largest_difference = (got - expected).abs().max().item<double>(),
                      .largest_logit = expected.abs().max().item<double>()};
  if (!(report.largest_difference <= tolerance * std::max(1.0, report.largest_logit))) {
    throw Error(fmt::format("the export of {} differs from it: logits by {} (they go up to {})", model_dir.string(),
                            report.largest_difference, report.largest_logit),
                "nothing was written; if the weights are not finite, export an earlier checkpoint");
  }
  return report;
}

}  // namespace crope::interop
