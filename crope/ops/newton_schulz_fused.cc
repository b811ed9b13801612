#include "crope/ops/newton_schulz_fused.h"

#include <ATen/ATen.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <utility>

#include "crope/base/rounding.h"
#include "crope/ops/cpu/optimizer_update.h"
#include "crope/ops/cpu/symmetric_tiles.h"
#include "crope/ops/products.h"

namespace crope::ops {
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

struct Coefficients {
  float c0, c1, c2;
};
Coefficients coefficients_of(const NewtonSchulzOptions& options) {
  const auto [c0, c1, c2] = options.coefficients;
  return {static_cast<float>(c0), static_cast<float>(c1), static_cast<float>(c2)};
}

cpu::SumProduct product(std::int64_t k, const cpu::MatrixSum& a, const cpu::MatrixSum& b, float* target) {
  cpu::SumProduct call{.k = k, .a = a, .b = b};
  call.targets[0] = {.data = target};
  return call;
}

// The lower triangle of target[n, n] <- x x'.
void multiply_symmetric(std::int64_t n, std::int64_t k, const cpu::MatrixSum& x, float* target) {
  cpu::MatrixSum turned = x;
  turned.transposed = !x.transposed;
  const cpu::SumProduct call = product(k, x, turned, target);
  multiply({n, n, n}, std::span(&call, 1), cpu::ResultPart::lower);
}

// y[r, c] <- U y with U = c0 I + c1 S + c2 S^2, S = y y'. The result is in `next`.
void step(const float* y, float* next, float* s, float* u, std::int64_t r, std::int64_t c, const Coefficients& p) {
  multiply_symmetric(r, c, {.first = y, .stride = c}, s);
  cpu::combine_symmetric(r, s, nullptr, 0, 0, 1);
  multiply_symmetric(r, r, {.first = s, .stride = r}, u);  // S is symmetric: S S' is S^2
  cpu::combine_symmetric(r, u, s, p.c0, p.c1, p.c2);
  const cpu::SumProduct call = product(r, {.first = u, .stride = r}, {.first = y, .stride = c}, next);
  multiply({r, c, c}, std::span(&call, 1));
}

struct Pair {
  float* re;
  float* im;
};

// The real or the imaginary part of a pair of matrices with rows of `stride` floats, or re ± im.
cpu::MatrixSum one(const float* part, std::int64_t stride) {
  return {.first = part, .stride = stride};
}
cpu::MatrixSum sum(const Pair& x, std::int64_t stride) {
  return {.first = x.re, .others = {{{x.im, 1}}}, .count = 2, .stride = stride};
}
cpu::MatrixSum difference(const Pair& x, std::int64_t stride) {
  return {.first = x.re, .others = {{{x.im, -1}}}, .count = 2, .stride = stride};
}

// One step on z[m, n] = re + i im; `next` gets the result. g, q and s are [m, m].
void step(const Pair& z, const Pair& next, float* g, float* q, const Pair& s, std::int64_t m, std::int64_t n,
          const Coefficients& p) {
  multiply_symmetric(m, n, difference(z, n), g);
  cpu::MatrixSum re_turned = one(z.re, n);
  re_turned.transposed = true;
  cpu::SumProduct call = product(n, one(z.im, n), re_turned, q);
  multiply({m, m, m}, std::span(&call, 1));
  cpu::combine_hermitian_gram(m, {.g = g, .q = q, .re = s.re, .im = s.im});
  multiply_symmetric(m, m, difference(s, m), g);
  call = product(m, one(s.re, m), one(s.im, m), q);
  multiply({m, m, m}, std::span(&call, 1));
  cpu::combine_hermitian_polynomial(m, {.g = g, .q = q, .c0 = p.c0, .c1 = p.c1, .c2 = p.c2, .re = s.re, .im = s.im});
  // (u z)_re = P1 - (u_re + u_im) z_im and (u z)_im = P1 - (u_re - u_im) z_re with P1 = u_re (z_re + z_im).
  std::array<cpu::SumProduct, 3> calls{product(m, one(s.re, m), sum(z, n), next.re),
                                       product(m, sum(s, m), one(z.im, n), next.re),
                                       product(m, difference(s, m), one(z.re, n), next.im)};
  calls[0].targets[1] = {.data = next.im};
  calls[0].target_count = 2;
  for (const int i : {1, 2}) calls[i].targets[0].sign = -1, calls[i].targets[0].add = true;
  multiply({m, n, n}, calls);
}

}  // namespace

double newton_schulz_flops(std::int64_t R, std::int64_t C, MatrixKind kind, const NewtonSchulzOptions& options) {
  const auto r = static_cast<double>(std::min(R, C)), c = static_cast<double>(std::max(R, C));
  const double square = 2 * r * r * r, wide = 2 * r * r * c;  // [r, r] [r, r] and [r, r] [r, c]
  const double step = kind == MatrixKind::real ? 1.5 * wide + 0.5 * square : 4.5 * wide + 1.5 * square;
  return options.steps * step;
}

std::vector<float*> NewtonSchulzWorkspace::blocks(int count, std::int64_t floats) {
  constexpr std::int64_t kAlign = 16;  // floats: a cache line
  // An odd number of lines between blocks: equal offsets of all of them in the cache would push each other out.
  const std::int64_t stride = round_up(floats, kAlign) + 5 * kAlign;
  if (!memory_.defined() || memory_.numel() < count * stride) memory_ = at::empty({count * stride}, torch::kFloat32);
  std::vector<float*> result;
  for (int i = 0; i < count; ++i) result.push_back(memory_.data_ptr<float>() + i * stride);
  return result;
}

void newton_schulz_in_place(float* x, std::int64_t R, std::int64_t C, const NewtonSchulzOptions& options,
                            NewtonSchulzWorkspace& workspace) {
  const bool tall = R > C;  // S is as small as the smaller side
  const std::int64_t r = std::min(R, C), c = std::max(R, C);
  const std::vector<float*> block = workspace.blocks(4, r * c);
  float *y = block[0], *next = block[1];
  const double norm = std::sqrt(cpu::sum_of_squares(x, R * C));
  const auto factor = static_cast<float>(1.0 / std::max(norm, options.eps));
  if (tall) {
    transpose_into(y, x, R, C, factor);
  } else {
    cpu::scale_into(y, x, factor, R * C);
  }
  for (int i = 0; i < options.steps; ++i) {
    step(y, next, block[2], block[3], r, c, coefficients_of(options));
    std::swap(y, next);
  }
  if (tall) {
    transpose_into(x, y, r, c, 1);
  } else {
    cpu::scale_into(x, y, 1, R * C);
  }
}

void newton_schulz_in_place(float* a, float* b, std::int64_t M, std::int64_t N, const NewtonSchulzOptions& options,
                            NewtonSchulzWorkspace& workspace) {
  const bool tall = M > N;
  const std::int64_t m = std::min(M, N), n = std::max(M, N);
  const std::vector<float*> block = workspace.blocks(8, m * n);
  Pair z{block[0], block[1]}, next{block[2], block[3]};
  const Pair s{block[6], block[7]};
  // The expanded matrix has each entry twice: its norm is sqrt(2) times that of the pair.
  const double norm = std::sqrt(2 * (cpu::sum_of_squares(a, M * N) + cpu::sum_of_squares(b, M * N)));
  const auto factor = static_cast<float>(1.0 / std::max(norm, options.eps));
  if (tall) {  // the transpose of a tall matrix in block form is (a', -b')
    transpose_into(z.re, a, M, N, factor);
    transpose_into(z.im, b, M, N, -factor);
  } else {
    cpu::scale_into(z.re, a, factor, M * N);
    cpu::scale_into(z.im, b, factor, M * N);
  }
  for (int i = 0; i < options.steps; ++i) {
    step(z, next, block[4], block[5], s, m, n, coefficients_of(options));
    std::swap(z, next);
  }
  if (tall) {
    transpose_into(a, z.re, m, n, 1);
    transpose_into(b, z.im, m, n, -1);
  } else {
    cpu::scale_into(a, z.re, 1, M * N);
    cpu::scale_into(b, z.im, 1, M * N);
  }
}

}  // namespace crope::ops
