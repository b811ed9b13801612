#include "crope/ops/newton_schulz.h"

#include <ATen/ATen.h>

#include <algorithm>
#include <numbers>

#include "crope/ops/check.h"
#include "crope/ops/device.h"

namespace crope::ops {
namespace {

using torch::Tensor;

// In place by the device's kernel, if it has one. `imaginary` is undefined for a real matrix.
bool iterate_by_kernel(const Tensor& x, const Tensor& imaginary, const NewtonSchulzOptions& options) {
  const auto kernel = kernels_for({x, imaginary}).newton_schulz;
  if (kernel == nullptr) return false;
  const auto [c0, c1, c2] = options.coefficients;
  kernel({.x = mutable_view(x),
          .imaginary = mutable_view(imaginary),
          .steps = options.steps,
          .coefficients = {static_cast<float>(c0), static_cast<float>(c1), static_cast<float>(c2)},
          .eps = options.eps});
  return true;
}

// By ATen, on a real or a complex matrix.
Tensor iterate(const Tensor& x, double norm_factor, const NewtonSchulzOptions& options) {
  const auto [c0, c1, c2] = options.coefficients;
  const bool tall = x.size(0) > x.size(1);  // S is as small as the smaller side
  Tensor y = tall ? x.mH() : x;
  y = y / (y.norm() * norm_factor).clamp_min(options.eps);
  for (int step = 0; step < options.steps; ++step) {
    // In bf16 the order of operations shows: it is that of torch.optim.Muon.
    const Tensor s = y.mm(y.mH());
    y = at::addmm(y, at::addmm(s, s, s, c1, c2), y, c0);
  }
  return tall ? y.mH() : y;
}

}  // namespace

Tensor newton_schulz(const Tensor& x, const NewtonSchulzOptions& options) {
  check_shape(x.dim() == 2, "newton_schulz", "x", "[R, C]", x);
  const at::NoGradGuard no_grad;
  const Tensor y = x.clone(at::MemoryFormat::Contiguous);
  return iterate_by_kernel(y, {}, options) ? y : iterate(x, 1, options);
}

ComplexWeight newton_schulz(const ComplexWeight& pair, const NewtonSchulzOptions& options) {
  check_shape(pair.a.dim() == 2, "newton_schulz", "a", "[M, N]", pair.a);
  check_shape(pair.b.sizes() == pair.a.sizes(), "newton_schulz", "b", "the shape of a", pair.b);
  const at::NoGradGuard no_grad;
  const Tensor a = pair.a.clone(at::MemoryFormat::Contiguous), b = pair.b.clone(at::MemoryFormat::Contiguous);
  if (iterate_by_kernel(a, b, options)) return {a, b};
  // ATen has no complex numbers of two bytes each.
  if (at::isReducedFloatingType(a.scalar_type())) return contract(iterate(expand(pair), 1, options));
  // The expanded matrix has each entry twice: its norm is sqrt(2) times that of the pair.
  const Tensor z = iterate(at::complex(a, b), std::numbers::sqrt2, options);
  return {at::real(z).contiguous(), at::imag(z).contiguous()};
}

namespace {

Tensor iterate_batch(const Tensor& x, double norm_factor, const NewtonSchulzOptions& options) {
  const auto [c0, c1, c2] = options.coefficients;
  const bool tall = x.size(1) > x.size(2);
  Tensor y = tall ? x.mH() : x;
  y = y / (at::linalg_vector_norm(y, 2, at::IntArrayRef{1, 2}, /*keepdim=*/true) * norm_factor).clamp_min(options.eps);
  for (int step = 0; step < options.steps; ++step) {
    const Tensor s = y.bmm(y.mH());
    y = at::baddbmm(y, at::baddbmm(s, s, s, c1, c2), y, c0);
  }
  return tall ? y.mH() : y;
}

}  // namespace

Tensor newton_schulz_batch(const Tensor& x, const NewtonSchulzOptions& options) {
  check_shape(x.dim() == 3, "newton_schulz_batch", "x", "[n, R, C]", x);
  const at::NoGradGuard no_grad;
  return iterate_batch(x, 1, options);
}

ComplexWeight newton_schulz_batch(const ComplexWeight& pairs, const NewtonSchulzOptions& options) {
  check_shape(pairs.a.dim() == 3, "newton_schulz_batch", "a", "[n, M, N]", pairs.a);
  check_shape(pairs.b.sizes() == pairs.a.sizes(), "newton_schulz_batch", "b", "the shape of a", pairs.b);
  const at::NoGradGuard no_grad;
  if (!at::isReducedFloatingType(pairs.a.scalar_type())) {
    const Tensor z = iterate_batch(at::complex(pairs.a, pairs.b), std::numbers::sqrt2, options);
    return {at::real(z), at::imag(z)};
  }
  const Tensor wide = at::cat({at::cat({pairs.a, pairs.b}, 2), at::cat({-pairs.b, pairs.a}, 2)}, 1);
  const Tensor done = iterate_batch(wide, 1, options);
  const int64_t M = pairs.a.size(1);
  const Halves top = halves_of(done.narrow(1, 0, M)), bottom = halves_of(done.narrow(1, M, M));
  return {(top.re + bottom.im) / 2, (top.im - bottom.re) / 2};
}

double newton_schulz_flops(int64_t R, int64_t C, MatrixKind kind, const NewtonSchulzOptions& options) {
  const auto r = static_cast<double>(std::min(R, C)), c = static_cast<double>(std::max(R, C));
  const double square = 2 * r * r * r, wide = 2 * r * r * c;  // [r, r] [r, r] and [r, r] [r, c]
  const double step = kind == MatrixKind::real ? 1.5 * wide + 0.5 * square : 4.5 * wide + 1.5 * square;
  return options.steps * step;
}

}  // namespace crope::ops
