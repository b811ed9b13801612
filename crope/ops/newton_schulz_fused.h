// Newton-Schulz in fp32 on the CPU: symmetric products are computed by half, a tied pair as one complex matrix, and
// nothing is allocated between the products. newton_schulz.h has the contract; this is its fast path.
#pragma once

#include <cstdint>
#include <vector>

#include "crope/ops/newton_schulz.h"

namespace crope::ops {

// Memory of the iteration, kept from one matrix to the next. One for each thread.
class NewtonSchulzWorkspace {
 public:
  // `count` blocks of at least `floats` each; what was in them is lost.
  std::vector<float*> blocks(int count, std::int64_t floats);

 private:
  torch::Tensor memory_;
};

// In place on x[R, C] in rows. Uses the calling thread alone when inside at::parallel_for.
void newton_schulz_in_place(float* x, std::int64_t R, std::int64_t C, const NewtonSchulzOptions& options,
                            NewtonSchulzWorkspace& workspace);

// In place on the pair a[M, N], b[M, N].
void newton_schulz_in_place(float* a, float* b, std::int64_t M, std::int64_t N, const NewtonSchulzOptions& options,
                            NewtonSchulzWorkspace& workspace);

// Operations of the products that it needs on one matrix [R, C], or on a pair of them: of a symmetric product, half.
enum class MatrixKind { real, pair };
double newton_schulz_flops(std::int64_t R, std::int64_t C, MatrixKind kind, const NewtonSchulzOptions& options);

}  // namespace crope::ops
