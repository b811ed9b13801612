#include "crope/interop/head_product.h"

#include <ATen/ATen.h>

#include <algorithm>
#include <cmath>

namespace crope::interop {
namespace {

using torch::Tensor;

// Rows [K, 2N] in halves as complex columns [N, K].
Tensor complex_columns(const Tensor& rows) {
  const int64_t N = rows.size(1) / 2;
  return at::complex(rows.narrow(1, 0, N), rows.narrow(1, N, N)).t();
}

double norm_of(const Tensor& x) {
  return at::linalg_vector_norm(x).item<double>();
}

// A layer of weights a, b multiplies by a - ib.
ops::ComplexWeight weight_of(const Tensor& complex_matrix) {
  return {at::real(complex_matrix).contiguous(), -at::imag(complex_matrix)};
}

// The first `count` columns, filled up with zeros where there are fewer.
Tensor leading_columns(const Tensor& x, int64_t count) {
  const int64_t there = std::min(count, x.size(1));
  return at::constant_pad_nd(x.narrow(1, 0, there), {0, count - there});
}

}  // namespace

TiedHead nearest_tied_head(const HeadProduct& head) {
  const int64_t channels = head.v.size(0) / 2;
  const auto [o_basis, o_rest] = at::linalg_qr(complex_columns(head.o.t()));
  const auto [v_basis, v_rest] = at::linalg_qr(complex_columns(head.v));
  const auto [left, sizes, right] = at::linalg_svd(o_rest.mm(v_rest.mH()) / 2, /*full_matrices=*/false);
  const Tensor root = sizes.sqrt();
  Tensor o = leading_columns(o_basis.mm(left) * root, channels);             // [N, K/2]
  Tensor v = leading_columns(v_basis.mm(right.mH()) * root, channels).mH();  // [K/2, N]
  const double size = norm_of(v) * norm_of(head.o);                          // v and o have the same norm here
  const double wanted = norm_of(o) * norm_of(head.v);
  if (size > 0 && wanted > 0) {
    const double scale = std::sqrt(wanted / size);
    v = v * scale;
    o = o / scale;
  }
  return {weight_of(v), weight_of(o)};
}

TiedValueHead nearest_tied_value_head(const HeadProduct& head) {
  const int64_t channels = head.v.size(0) / 2;
  const Tensor rest = std::get<1>(at::linalg_qr(head.o));  // rest' rest = o' o
  const Tensor weighted = complex_columns(head.v).mm(rest.t().to(torch::kComplexDouble));
  const Tensor basis = std::get<0>(at::linalg_svd(weighted, /*full_matrices=*/false));
  ops::ComplexWeight v = weight_of(leading_columns(basis, channels).mH());
  const Tensor rows = ops::expand(v);  // [K, D], orthonormal
  const double scale = norm_of(rows) > 0 ? norm_of(head.v) / norm_of(rows) : 0;
  if (!(scale > 0)) return {v, at::zeros_like(head.o)};
  return {{v.a * scale, v.b * scale}, head.o.mm(head.v.mm(rows.t())) / scale};
}

}  // namespace crope::interop
