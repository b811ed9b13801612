#include "crope/ops/error_feedback.h"

#include <ATen/ATen.h>

#include <algorithm>

#include "crope/base/error.h"

namespace crope::ops {
namespace {

using torch::Tensor;

// Share of the mean diagonal that is added to it, so that inputs of low rank have an inverse.
constexpr double kDamping = 0.01;

// U, upper, with U^T U the inverse of the damped moments. [N, N] in fp32.
Tensor inverse_factor(const Tensor& moments) {
  Tensor damped = moments.to(at::kDouble).clone();
  if (!at::isfinite(damped).all().item<bool>()) throw Error("the inputs of a matrix are not finite");
  const double mean = damped.diagonal().mean().item<double>();
  damped.diagonal().add_(mean > 0 ? kDamping * mean : 1.0);
  const Tensor inverse = at::cholesky_inverse(at::linalg_cholesky(damped));
  return at::linalg_cholesky(inverse, /*upper=*/true).to(at::kFloat);
}

// The scales of one block [M, n], n at most 32: [M, 1], as 16 bits hold them.
Tensor block_scales(const Tensor& block, const Tensor& costs) {
  const Tensor bytes = to_blocks(quantised(block.contiguous(), WeightType::int4, costs));
  return bytes.select(1, 0).narrow(1, 0, 2).contiguous().view(at::kHalf).to(at::kFloat);
}

// Integers q [M, N], from -8 to 7, and scales [M, blocks] as blocks.
QuantisedMatrix matrix_of(const Tensor& q, const Tensor& scales) {
  const auto [M, blocks, bytes] = block_shape(WeightType::int4, q.size(0), q.size(1));
  const Tensor whole = at::constant_pad_nd(q + 8, {0, blocks * kQuantisedBlock - q.size(1)}, 8)
                           .to(at::kByte)
                           .view({M, blocks, 2, bytes - 2});
  const Tensor nibbles = whole.select(2, 0).bitwise_or(whole.select(2, 1).bitwise_left_shift(4));
  const Tensor head = scales.to(at::kHalf).unsqueeze(2).contiguous().view(at::kByte);
  return from_blocks(at::cat({head, nibbles}, 2), WeightType::int4, q.size(1));
}

// The matrices [M, N] that stand side by side in `weight`, blocks within each of them.
std::vector<QuantisedMatrix> round_in_order(const Tensor& weight, const Tensor& moments, int64_t N) {
  Tensor w = weight.detach().to(at::kFloat).clone();
  if (!at::isfinite(w).all().item<bool>()) {
    throw Error("weights that are not finite cannot be rounded to fewer bits", "take an earlier checkpoint");
  }
  const Tensor factor = inverse_factor(moments);
  const Tensor costs = factor.diagonal().square().reciprocal();
  std::vector<QuantisedMatrix> result;
  for (int64_t first = 0; first < w.size(1); first += N) {
    std::vector<Tensor> scales;
    for (int64_t begin = first; begin < first + N; begin += kQuantisedBlock) {
      const int64_t end = std::min(begin + kQuantisedBlock, first + N);
      const Tensor scale = block_scales(w.narrow(1, begin, end - begin), costs.narrow(0, begin, end - begin));
      const Tensor inverse = at::where(scale == 0, at::zeros_like(scale), scale.reciprocal());
      Tensor errors = at::empty({w.size(0), end - begin});
      for (int64_t c = begin; c < end; ++c) {
        Tensor column = w.narrow(1, c, 1);
        const Tensor q = (column * inverse).round().clamp(-8, 7);
        const Tensor error = (column - q * scale) / factor[c][c];
        if (c + 1 < end) {
          w.narrow(1, c + 1, end - c - 1).addmm_(error, factor[c].narrow(0, c + 1, end - c - 1).unsqueeze(0), 1, -1);
        }
        errors.narrow(1, c - begin, 1).copy_(error);
        column.copy_(q);
      }
      if (end < w.size(1)) {
        w.slice(1, end).addmm_(errors, factor.slice(0, begin, end).slice(1, end), 1, -1);
      }
      scales.push_back(scale);
    }
    result.push_back(matrix_of(w.narrow(1, first, N), at::cat(scales, 1)));
  }
  return result;
}

}  // namespace

QuantisedMatrix quantised_with_feedback(const Tensor& weight, const Tensor& moments) {
  return round_in_order(weight, moments, weight.size(1)).front();
}

// The rows of [a, b] are multiplied with [re, im] and with [im, -re].
QuantisedPair quantised_with_feedback(const Tensor& a, const Tensor& b, const Tensor& moments) {
  const int64_t N = a.size(1);
  const auto quarter = [&](int64_t i, int64_t j) { return moments.narrow(0, i * N, N).narrow(1, j * N, N); };
  const Tensor same = quarter(0, 0) + quarter(1, 1), across = quarter(0, 1) - quarter(1, 0);
  const Tensor both = at::cat({at::cat({same, across}, 1), at::cat({-across, same}, 1)});
  std::vector<QuantisedMatrix> rounded = round_in_order(at::cat({a, b}, 1), both, N);
  return {std::move(rounded[0]), std::move(rounded[1])};
}

}  // namespace crope::ops
