#include "crope/ops/newton_schulz.h"

#include <ATen/ATen.h>

#include <algorithm>
#include <utility>

#include "crope/ops/check.h"
#include "crope/ops/device.h"
#include "crope/ops/symmetric_product.h"

namespace crope::ops {
namespace {

using torch::Tensor;

// A complex matrix re + i im in the block form [[re, im], [-im, re]]; products follow that form.
struct Complex {
  Tensor re, im;
};

// S = Z Z^H: S_re = A A' + B B' is symmetric, S_im = Q - Q' with Q = B A' is antisymmetric.
Complex gram(const Complex& z) {
  const Tensor q = z.im.mm(z.re.t());
  return {symmetric_product(at::cat({z.re, z.im}, 1)), q - q.t()};
}

// S^2 of a Hermitian S. With Q = S_re S_im, S_im S_re is -Q', so two products do:
//   (S^2)_im = Q - Q'   and   (S^2)_re = S_re^2 - S_im^2 = (S_re - S_im)(S_re - S_im)' - Q - Q'.
Complex square_hermitian(const Complex& s) {
  const Tensor q = s.re.mm(s.im);
  Tensor re = symmetric_product(s.re - s.im);
  re.sub_(q).sub_(q.t());
  return {std::move(re), q - q.t()};
}

// z <- c z + u z by three products: (u z)_re = P1 - P2, (u z)_im = P1 + P3 with
//   P1 = u_re (z_re + z_im), P2 = (u_re + u_im) z_im, P3 = (u_im - u_re) z_re.
Complex scale_and_multiply(double c, const Complex& z, const Complex& u) {
  const Tensor shared = u.re.mm(z.re + z.im);
  Tensor re = at::addmm(shared, u.re + u.im, z.im, 1, -1);
  Tensor im = at::addmm(shared, u.im - u.re, z.re);
  return {re.add_(z.re, c), im.add_(z.im, c)};
}

// c1 S + c2 S^2 with S = y y'.
Tensor polynomial_of_gram(const Tensor& y, double c1, double c2) {
  if (y.scalar_type() == torch::kBFloat16 || y.scalar_type() == torch::kFloat16) {
    // In so few bits the order of operations shows: keep to that of torch.optim.Muon.
    const Tensor s = y.mm(y.t());
    return at::addmm(s, s, s, c1, c2);
  }
  const Tensor s = symmetric_product(y);
  return symmetric_product(s).mul_(c2).add_(s, c1);  // S is symmetric: S S' is S^2
}

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

Tensor iterate_real(const Tensor& x, const NewtonSchulzOptions& options) {
  const auto [c0, c1, c2] = options.coefficients;
  const bool tall = x.size(0) > x.size(1);  // S is as small as the smaller side
  Tensor y = tall ? x.t() : x;
  y = y / y.norm().clamp_min(options.eps);
  for (int step = 0; step < options.steps; ++step) {
    const Tensor u = polynomial_of_gram(y, c1, c2);
    y = at::addmm(y, u, y, c0);
  }
  return tall ? y.t() : y;
}

ComplexWeight iterate_pair(const ComplexWeight& pair, const NewtonSchulzOptions& options) {
  const auto [c0, c1, c2] = options.coefficients;
  const bool tall = pair.a.size(0) > pair.a.size(1);
  // The expanded matrix has each entry twice: its norm is sqrt(2) times that of the pair.
  const Tensor norm = (pair.a.square().sum() + pair.b.square().sum()).mul(2).sqrt().clamp_min(options.eps);
  // The transpose of a tall matrix in block form is (a', -b').
  Complex z{(tall ? pair.a.t() : pair.a) / norm, (tall ? -pair.b.t() : pair.b) / norm};
  for (int step = 0; step < options.steps; ++step) {
    const Complex s = gram(z);
    const Complex s2 = square_hermitian(s);
    const Complex u{s.re * c1 + s2.re * c2, s.im * c1 + s2.im * c2};
    z = scale_and_multiply(c0, z, u);
  }
  if (tall) return {z.re.t(), -z.im.t()};
  return {z.re, z.im};
}

}  // namespace

Tensor newton_schulz(const Tensor& x, const NewtonSchulzOptions& options) {
  check_shape(x.dim() == 2, "newton_schulz", "x", "[R, C]", x);
  const at::NoGradGuard no_grad;
  const Tensor y = x.clone(at::MemoryFormat::Contiguous);
  return iterate_by_kernel(y, {}, options) ? y : iterate_real(x, options);
}

ComplexWeight newton_schulz(const ComplexWeight& pair, const NewtonSchulzOptions& options) {
  check_shape(pair.a.dim() == 2, "newton_schulz", "a", "[M, N]", pair.a);
  check_shape(pair.b.sizes() == pair.a.sizes(), "newton_schulz", "b", "the shape of a", pair.b);
  const at::NoGradGuard no_grad;
  const Tensor a = pair.a.clone(at::MemoryFormat::Contiguous), b = pair.b.clone(at::MemoryFormat::Contiguous);
  return iterate_by_kernel(a, b, options) ? ComplexWeight{a, b} : iterate_pair(pair, options);
}

double newton_schulz_flops(int64_t R, int64_t C, MatrixKind kind, const NewtonSchulzOptions& options) {
  const auto r = static_cast<double>(std::min(R, C)), c = static_cast<double>(std::max(R, C));
  const double square = 2 * r * r * r, wide = 2 * r * r * c;  // [r, r] [r, r] and [r, r] [r, c]
  const double step = kind == MatrixKind::real ? 1.5 * wide + 0.5 * square : 4.5 * wide + 1.5 * square;
  return options.steps * step;
}

}  // namespace crope::ops
