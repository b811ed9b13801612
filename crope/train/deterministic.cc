#include "crope/train/deterministic.h"

#include <ATen/Context.h>
#include <stdlib.h>

namespace crope::train {

DeterministicScope::DeterministicScope(torch::Device device, bool wanted) : is_on_(wanted && !device.is_cpu()) {
  if (!is_on_) return;
  ::setenv("CUBLAS_WORKSPACE_CONFIG", ":4096:8", /*overwrite=*/0);  // cuBLAS reads it with its first product
  at::Context& context = at::globalContext();
  before_ = context.deterministicAlgorithms();
  filled_before_ = context.deterministicFillUninitializedMemory();
  context.setDeterministicAlgorithms(true, /*warn_only=*/false);
  context.setDeterministicFillUninitializedMemory(false);  // nothing here reads memory before it is written
}

DeterministicScope::~DeterministicScope() {
  if (!is_on_) return;
  at::globalContext().setDeterministicAlgorithms(before_, /*warn_only=*/false);
  at::globalContext().setDeterministicFillUninitializedMemory(filled_before_);
}

}  // namespace crope::train
