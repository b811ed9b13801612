#include "crope/ops/newton_schulz_fused.h"

#include <ATen/ATen.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <utility>

#include "crope/ops/cpu/optimizer_update.h"
#include "crope/ops/cpu/symmetric_tiles.h"
#include "crope/ops/gemm.h"

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

// y[r, c] <- U y with U = c0 I + c1 S + c2 S^2, S = y y'. The result is in `next`.
void step(const float* y, float* next, float* s, float* u, std::int64_t r, std::int64_t c, const Coefficients& p) {
  gemm_lower(r, c, y, c, s);
  cpu::combine_symmetric(r, s, nullptr, 0, 0, 1);
  gemm_lower(r, r, s, r, u);  // S is symmetric: S S' is S^2
  cpu::combine_symmetric(r, u, s, p.c0, p.c1, p.c2);
  gemm({.m = r, .n = c, .k = r, .a = {u, r}, .b = {y, c}, .c = next, .c_stride = c});
}

struct Pair {
  float* re;
  float* im;
};

// One step on z[m, n] = re + i im; `next` gets the result. Square blocks are [m, m], the wide one [m, n].
struct PairBlocks {
  float *g, *q, *re, *im, *difference;  // [m, m]
  float* wide;                          // [m, n]
};
void step(const Pair& z, const Pair& next, const PairBlocks& w, std::int64_t m, std::int64_t n, const Coefficients& p) {
  cpu::add_into(w.wide, z.re, z.im, -1, m * n);
  gemm_lower(m, n, w.wide, n, w.g);
  gemm({.m = m, .n = m, .k = n, .a = {z.im, n}, .b = {z.re, n, true}, .c = w.q, .c_stride = m});
  cpu::combine_hermitian_gram(m, {.g = w.g, .q = w.q, .re = w.re, .im = w.im, .difference = w.difference});
  gemm_lower(m, m, w.difference, m, w.g);
  gemm({.m = m, .n = m, .k = m, .a = {w.re, m}, .b = {w.im, m}, .c = w.q, .c_stride = m});
  // In place: only lower triangles of re and im are read, each tile before it is written.
  cpu::combine_hermitian_polynomial(m, {.g = w.g,
                                        .q = w.q,
                                        .re = w.re,
                                        .im = w.im,
                                        .c0 = p.c0,
                                        .c1 = p.c1,
                                        .c2 = p.c2,
                                        .u_re = w.re,
                                        .sum = w.im,
                                        .difference = w.difference});
  // (u z)_re = P1 - (u_re + u_im) z_im and (u z)_im = P1 + (u_im - u_re) z_re with P1 = u_re (z_re + z_im).
  cpu::add_into(w.wide, z.re, z.im, 1, m * n);
  gemm({.m = m, .n = n, .k = m, .a = {w.re, m}, .b = {w.wide, n}, .c = next.re, .c_stride = n});
  std::memcpy(next.im, next.re, sizeof(float) * static_cast<std::size_t>(m * n));
  gemm({.m = m, .n = n, .k = m, .a = {w.im, m}, .b = {z.im, n}, .c = next.re, .c_stride = n, .alpha = -1, .beta = 1});
  gemm({.m = m, .n = n, .k = m, .a = {w.difference, m}, .b = {z.re, n}, .c = next.im, .c_stride = n, .beta = 1});
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
  const std::int64_t stride = (floats + kAlign - 1) / kAlign * kAlign + 5 * kAlign;
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
  const std::vector<float*> block = workspace.blocks(10, m * n);
  Pair z{block[0], block[1]}, next{block[2], block[3]};
  const PairBlocks blocks{block[4], block[5], block[6], block[7], block[8], block[9]};
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
    step(z, next, blocks, m, n, coefficients_of(options));
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
