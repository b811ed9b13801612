#include <algorithm>
#include <array>
#include <cmath>
#include <utility>

#include "crope/base/rounding.h"
#include "crope/ops/cpu/kernels.h"
#include "crope/ops/cpu/multiply.h"
#include "crope/ops/cpu/scratch.h"
#include "crope/ops/cpu/symmetric_tiles.h"
#include "crope/ops/cpu/vector_math.h"

namespace crope::ops::cpu {
namespace {

constexpr std::int64_t kTransposeTile = 16;

// to[C, R] <- factor from[R, C]'.
void transpose_into(float* to, const float* from, std::int64_t R, std::int64_t C, float factor) {
  for (std::int64_t row = 0; row < R; row += kTransposeTile) {
    const std::int64_t row_end = std::min(row + kTransposeTile, R);
    for (std::int64_t column = 0; column < C; column += kTransposeTile) {
      const std::int64_t column_end = std::min(column + kTransposeTile, C);
      for (std::int64_t j = column; j < column_end; ++j) {
        for (std::int64_t i = row; i < row_end; ++i) to[j * R + i] = factor * from[i * C + j];
      }
    }
  }
}

SumProduct product(std::int64_t k, const MatrixSum& a, const MatrixSum& b, float* target) {
  SumProduct call{.k = k, .a = a, .b = b};
  call.targets[0] = {.data = target};
  return call;
}

// The lower triangle of target[n, n] <- x x'.
void multiply_symmetric(std::int64_t n, std::int64_t k, const MatrixSum& x, float* target) {
  MatrixSum transposed = x;
  transposed.transposed = !x.transposed;
  const SumProduct call = product(k, x, transposed, target);
  multiply({n, n, n}, std::span(&call, 1), ResultPart::lower);
}

// y[m, n] <- U y with U = c0 I + c1 S + c2 S^2, S = y y'. The result is in `next`; s and u are [m, m].
void step(const float* y, float* next, float* s, float* u, std::int64_t m, std::int64_t n,
          const std::array<float, 3>& c) {
  multiply_symmetric(m, n, {.first = y, .stride = n}, s);
  combine_symmetric(m, s, nullptr, 0, 0, 1);
  multiply_symmetric(m, m, {.first = s, .stride = m}, u);  // S is symmetric: S S' is S^2
  combine_symmetric(m, u, s, c[0], c[1], c[2]);
  const SumProduct call = product(m, {.first = u, .stride = m}, {.first = y, .stride = n}, next);
  multiply({m, n, n}, std::span(&call, 1));
}

struct Pair {
  float* re;
  float* im;
};

// The real or the imaginary part of a pair of matrices with rows of `stride` floats, or re ± im.
MatrixSum one(const float* part, std::int64_t stride) {
  return {.first = part, .stride = stride};
}
MatrixSum sum(const Pair& x, std::int64_t stride) {
  return {.first = x.re, .others = {{{x.im, 1}}}, .count = 2, .stride = stride};
}
MatrixSum difference(const Pair& x, std::int64_t stride) {
  return {.first = x.re, .others = {{{x.im, -1}}}, .count = 2, .stride = stride};
}

// One step on z[m, n] = re + i im; `next` gets the result. g, q and s are [m, m].
void step(const Pair& z, const Pair& next, float* g, float* q, const Pair& s, std::int64_t m, std::int64_t n,
          const std::array<float, 3>& c) {
  multiply_symmetric(m, n, difference(z, n), g);
  MatrixSum re_transposed = one(z.re, n);
  re_transposed.transposed = true;
  SumProduct call = product(n, one(z.im, n), re_transposed, q);
  multiply({m, m, m}, std::span(&call, 1));
  combine_hermitian_gram(m, {.g = g, .q = q, .re = s.re, .im = s.im});
  multiply_symmetric(m, m, difference(s, m), g);
  call = product(m, one(s.re, m), one(s.im, m), q);
  multiply({m, m, m}, std::span(&call, 1));
  combine_hermitian_polynomial(m, {.g = g, .q = q, .c0 = c[0], .c1 = c[1], .c2 = c[2], .re = s.re, .im = s.im});
  // (u z)_re = P1 - (u_re + u_im) z_im and (u z)_im = P1 - (u_re - u_im) z_re with P1 = u_re (z_re + z_im).
  std::array<SumProduct, 3> calls{product(m, one(s.re, m), sum(z, n), next.re),
                                  product(m, sum(s, m), one(z.im, n), next.re),
                                  product(m, difference(s, m), one(z.re, n), next.im)};
  calls[0].targets[1] = {.data = next.im};
  calls[0].target_count = 2;
  for (const int i : {1, 2}) calls[i].targets[0].sign = -1, calls[i].targets[0].add = true;
  multiply({m, n, n}, calls);
}

// Equal blocks of one piece of memory.
class EqualBlocks {
 public:
  EqualBlocks(int count, std::int64_t floats)
      : stride_(round_up(floats, kLine) + 5 * kLine), memory_(count * stride_) {}
  float* operator[](int i) const { return memory_.data() + i * stride_; }

 private:
  static constexpr std::int64_t kLine = 16;  // floats of a cache line
  // An odd number of lines between blocks: equal offsets of all of them in the cache would push each other out.
  std::int64_t stride_;
  Scratch memory_;
};

// to <- factor x, transposed where x[R, C] is tall: S is then as small as the smaller side. And back.
void load_wide(float* to, const Matrix& x, float factor) {
  if (x.rows > x.columns) return transpose_into(to, x.data, x.rows, x.columns, factor);
  scale_into(to, x.data, factor, x.rows * x.columns);
}
void store_wide(const float* from, const Matrix& x, float factor) {
  if (x.rows > x.columns) return transpose_into(x.data, from, x.columns, x.rows, factor);
  scale_into(x.data, from, factor, x.rows * x.columns);
}

void iterate_real(const NewtonSchulz& call, std::int64_t m, std::int64_t n) {
  const EqualBlocks block(4, m * n);
  float *y = block[0], *next = block[1];
  const double norm = std::sqrt(sum_of_squares(call.x.data, m * n));
  load_wide(y, call.x, static_cast<float>(1.0 / std::max(norm, call.eps)));
  for (int i = 0; i < call.steps; ++i) {
    step(y, next, block[2], block[3], m, n, call.coefficients);
    std::swap(y, next);
  }
  store_wide(y, call.x, 1);
}

void iterate_pair(const NewtonSchulz& call, std::int64_t m, std::int64_t n) {
  const EqualBlocks block(8, m * n);
  Pair z{block[0], block[1]}, next{block[2], block[3]};
  const Pair s{block[6], block[7]};
  // The expanded matrix has each entry twice: its norm is sqrt(2) times that of the pair.
  const double squares = sum_of_squares(call.x.data, m * n) + sum_of_squares(call.imaginary.data, m * n);
  const auto factor = static_cast<float>(1.0 / std::max(std::sqrt(2 * squares), call.eps));
  // The transpose of a tall matrix in block form is (a', -b').
  const float sign = call.x.rows > call.x.columns ? -1.0f : 1.0f;
  load_wide(z.re, call.x, factor);
  load_wide(z.im, call.imaginary, sign * factor);
  for (int i = 0; i < call.steps; ++i) {
    step(z, next, block[4], block[5], s, m, n, call.coefficients);
    std::swap(z, next);
  }
  store_wide(z.re, call.x, 1);
  store_wide(z.im, call.imaginary, sign);
}

}  // namespace

void newton_schulz(const NewtonSchulz& call) {
  const std::int64_t m = std::min(call.x.rows, call.x.columns), n = std::max(call.x.rows, call.x.columns);
  if (call.imaginary.defined()) return iterate_pair(call, m, n);
  iterate_real(call, m, n);
}

}  // namespace crope::ops::cpu
