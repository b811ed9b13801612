#include "crope/ops/gemm.h"

#include <ATen/ATen.h>

#include <algorithm>

// LibTorch carries a BLAS and most of its builds export it. ATen's own product, which the others fall back to, spends a
// few microseconds a call on finding its way there.
extern "C" __attribute__((weak)) void sgemm_(const char* transa, const char* transb, const int* m, const int* n,
                                             const int* k, const float* alpha, const float* a, const int* lda,
                                             const float* b, const int* ldb, const float* beta, float* c,
                                             const int* ldc);

namespace crope::ops {
namespace {

torch::Tensor as_tensor(const GemmInput& input, std::int64_t rows, std::int64_t columns) {
  const std::array<std::int64_t, 2> strides =
      input.transposed ? std::array{std::int64_t{1}, input.stride} : std::array{input.stride, std::int64_t{1}};
  return at::from_blob(const_cast<float*>(input.data), {rows, columns}, strides, torch::kFloat32);
}

void gemm_by_aten(const Gemm& call) {
  const at::NoGradGuard no_grad;
  torch::Tensor c = at::from_blob(call.c, {call.m, call.n}, {call.c_stride, 1}, torch::kFloat32);
  const torch::Tensor a = as_tensor(call.a, call.m, call.k), b = as_tensor(call.b, call.k, call.n);
  if (call.beta == 0 && call.alpha == 1) {
    at::mm_out(c, a, b);
  } else {
    at::addmm_out(c, c, a, b, call.beta, call.alpha);
  }
}

}  // namespace

void gemm(const Gemm& call) {
  if (sgemm_ == nullptr) return gemm_by_aten(call);
  // BLAS counts in columns: the same memory read so is c' = b' a'.
  const int m = static_cast<int>(call.n), n = static_cast<int>(call.m), k = static_cast<int>(call.k);
  const int lda = static_cast<int>(call.b.stride), ldb = static_cast<int>(call.a.stride);
  const int ldc = static_cast<int>(call.c_stride);
  sgemm_(call.b.transposed ? "T" : "N", call.a.transposed ? "T" : "N", &m, &n, &k, &call.alpha, call.b.data, &lda,
         call.a.data, &ldb, &call.beta, call.c, &ldc);
}

void gemm_lower(std::int64_t n, std::int64_t k, const float* a, std::int64_t a_stride, float* c) {
  // Eight panels need 36 of 64 blocks; low ones cost more in speed of the product than they save.
  constexpr std::int64_t kPanels = 8, kLowestPanel = 64;
  const std::int64_t height = std::max((n + kPanels - 1) / kPanels, kLowestPanel);
  for (std::int64_t row = 0; row < n; row += height) {
    const std::int64_t rows = std::min(height, n - row);
    gemm({.m = rows,
          .n = row + rows,
          .k = k,
          .a = {a + row * a_stride, a_stride},
          .b = {a, a_stride, true},
          .c = c + row * n,
          .c_stride = n});
  }
}

}  // namespace crope::ops
