// Products of fp32 matrices in plain memory, for kernels that make many small ones.
#pragma once

#include <cstdint>

namespace crope::ops {

// A matrix in rows: entry (i, j) is data[i * stride + j], or data[j * stride + i] when it is to be read transposed.
struct GemmInput {
  const float* data;
  std::int64_t stride;
  bool transposed = false;
};

// c[m, n] <- alpha a[m, k] b[k, n] + beta c, by the BLAS of LibTorch. Inside at::parallel_for it uses the calling
// thread alone, outside of it all threads. c is not read when beta is 0.
struct Gemm {
  std::int64_t m, n, k;
  GemmInput a, b;
  float* c;
  std::int64_t c_stride;
  float alpha = 1;
  float beta = 0;
};
void gemm(const Gemm& call);

// The lower triangle of c[n, n] <- a[n, k] a'. Above the diagonal c holds anything afterwards.
void gemm_lower(std::int64_t n, std::int64_t k, const float* a, std::int64_t a_stride, float* c);

}  // namespace crope::ops
