// The element-wise passes between the products of Newton-Schulz. Matrices are [n, n], rows one after the other;
// results are exactly symmetric or antisymmetric, because their upper triangles are copies of the lower ones.
#pragma once

#include <cstdint>

namespace crope::ops::cpu {

// g <- c2 g + c1 s + c0 I, of which the lower triangle of g is read; s may be null when c1 is 0.
void combine_symmetric(std::int64_t n, float* g, const float* s, float c0, float c1, float c2);

// S = Z Z^H of Z = a + ib in block form, from g = (a - b)(a - b)' (lower triangle) and q = b a':
//   re <- g + q + q', im <- q - q'.
struct HermitianGram {
  const float* g;
  const float* q;
  float* re;
  float* im;
};
void combine_hermitian_gram(std::int64_t n, const HermitianGram& call);

// S <- c0 I + c1 S + c2 S^2 from g = (re - im)(re - im)' (lower triangle) and q = re im of S:
//   re <- c0 I + c1 re + c2 (g - q - q'), im <- c1 im + c2 (q - q').
struct HermitianPolynomial {
  const float* g;
  const float* q;
  float c0, c1, c2;
  float* re;
  float* im;
};
void combine_hermitian_polynomial(std::int64_t n, const HermitianPolynomial& call);

}  // namespace crope::ops::cpu
