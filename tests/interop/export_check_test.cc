#include "crope/interop/export_check.h"

#include <cmath>

#include "crope/base/error.h"
#include "crope/model/init.h"
#include "tests/tensor_checks.h"

namespace crope::interop {
namespace {

TEST(ExportCheck, CoarserTypesMayDifferMore) {
  EXPECT_EQ(export_tolerance(torch::kFloat32), kFp32Tolerance);
  EXPECT_EQ(export_tolerance(torch::kFloat16), kFp16Tolerance);
  EXPECT_EQ(export_tolerance(torch::kBFloat16), kCoarseTolerance);
}

TEST(ExportCheck, ProbesWithFixedTokens) {
  const model::Transformer model = model::make_random_transformer(
      {.vocab_size = 40, .num_layers = 1, .num_heads = 2, .d_model = 16, .d_ff = 16, .max_seq_len = 20});
  const at::Tensor logits = probe_logits(model);
  EXPECT_EQ(logits.sizes(), (at::IntArrayRef{1, 20, 40}));
  EXPECT_TRUE(at::equal(logits, probe_logits(model)));
}

TEST(ExportCheck, ReportsTheLargestDifferenceAndRefusesBeyondTheTolerance) {
  const at::Tensor expected = at::tensor({-8.0, 1.0, 2.0}), got = at::tensor({-8.0, 1.5, 2.25});
  const ExportReport report = compare_logits(expected, got, 0.1, "model", "out");
  EXPECT_EQ(report.path, "out");
  EXPECT_EQ(report.largest_difference, 0.5);
  EXPECT_EQ(report.largest_logit, 8);
  EXPECT_THROW(compare_logits(expected, got, 0.06, "model", "out"), Error);  // 0.5 > 0.06 * 8
  EXPECT_THROW(compare_logits(expected, at::full({3}, NAN), 1, "model", "out"), Error);
}

// Below 1 the tolerance is absolute: logits that are all near zero have no scale of their own.
TEST(ExportCheck, SmallLogitsAreComparedAbsolutely) {
  const at::Tensor expected = at::tensor({0.0, 1e-3});
  EXPECT_NO_THROW(compare_logits(expected, expected + 0.05, 0.1, "model", "out"));
  EXPECT_THROW(compare_logits(expected, expected + 0.15, 0.1, "model", "out"), Error);
}

}  // namespace
}  // namespace crope::interop
