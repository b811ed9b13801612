// Checks that an export computes the same logits as its model.
#pragma once

#include <torch/types.h>

#include <filesystem>

#include "crope/model/transformer.h"

namespace crope::interop {

struct ExportReport {
  std::filesystem::path path;  // the folder or file that was written
  double largest_difference;   // of the logits between the model and its export, read back and computed by us
  double largest_logit;        // for scale
};

// Logits [1, T, V] of a fixed sequence of random tokens.
torch::Tensor probe_logits(const model::Transformer& model);

// Largest difference of the logits that rounding alone explains, as a share of the largest logit: fp32 sums in another
// order, or weights of fewer bits.
inline constexpr double kFp32Tolerance = 1e-4;
inline constexpr double kFp16Tolerance = 0.02;
inline constexpr double kCoarseTolerance = 0.2;  // bf16, and 8 bits with a scale

inline constexpr double kFourBitTolerance = 1;  // of a model that was quantised before

// With 4 bits the logits of random tokens may be anything: there each matrix is compared, by the norm of its
// difference. Rounding a normally distributed matrix costs a tenth of its norm, a wrong order of rows or columns all of
// it.
inline constexpr double kFourBitError = 0.3;

// For matrices stored in this type.
double export_tolerance(torch::ScalarType type);

// Throws Error if the logits differ by more than `tolerance`, or if any is not finite. `model_dir` is what the message
// calls the model.
ExportReport compare_logits(const torch::Tensor& expected, const torch::Tensor& got, double tolerance,
                            const std::filesystem::path& model_dir, const std::filesystem::path& written);

}  // namespace crope::interop
