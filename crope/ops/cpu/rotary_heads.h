// One head of queries, keys or values: from rows in halves to the head's own rows, normalised and turned to their
// positions, and back.
#pragma once

#include <cstdint>

namespace crope::ops::cpu {

// A head of P pairs in rows of a wider matrix: pair p of row t is re[t * stride + p] + i im[t * stride + p].
template <typename Number>
struct HeadHalvesOf {
  Number* re;
  Number* im;
  std::int64_t stride;

  operator HeadHalvesOf<const Number>() const { return {re, im, stride}; }
};
using HeadHalves = HeadHalvesOf<float>;
using ConstHeadHalves = HeadHalvesOf<const float>;

// out[T, 2P], rows [re | im] without gaps, from x: n = x r gain with r = 1/sqrt(mean(|x|^2) + eps), times
// e^(i angle). Without `gain` nothing is normalised, without `cos` nothing is turned.
struct RotaryHead {
  std::int64_t T, P;
  ConstHeadHalves x;
  const float* gain;  // [2P]
  float eps;
  const float* cos;  // [T, P]
  const float* sin;  // [T, P]
  float* out;
};
void rotary_head(const RotaryHead& call);

// grad[T, 2P] of `out` becomes that of x in gx; grad_gain[2P] is added to.
struct RotaryHeadBackward {
  std::int64_t T, P;
  ConstHeadHalves x;
  const float* gain;
  float eps;
  const float* cos;
  const float* sin;
  const float* grad;
  HeadHalves gx;
  float* grad_gain;
};
void rotary_head_backward(const RotaryHeadBackward& call);

// head[T, 2P] into halves.
void head_to_halves(std::int64_t T, std::int64_t P, const float* head, const HeadHalves& to);

// products[t] = sum over row t of x y.
void head_row_products(std::int64_t T, std::int64_t P, const ConstHeadHalves& x, const ConstHeadHalves& y,
                       float* products);

}  // namespace crope::ops::cpu
