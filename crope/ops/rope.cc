#include "crope/ops/rope.h"

#include <ATen/ATen.h>
#include <fmt/format.h>

#include "crope/base/error.h"
#include "crope/ops/check.h"
#include "crope/ops/device.h"
#include "crope/ops/gradient.h"
#include "crope/ops/rope_scaling.h"

namespace crope::ops {
namespace {

using torch::Tensor;

Tensor rotate(const Tensor& x, const Tensor& cos, const Tensor& sin) {
  const int64_t half = x.size(-1) / 2;
  const Tensor re = x.narrow(-1, 0, half), im = x.narrow(-1, half, half);
  Tensor y = at::empty_like(x, at::MemoryFormat::Contiguous);
  Tensor y_re = y.narrow(-1, 0, half), y_im = y.narrow(-1, half, half);
  at::mul_out(y_re, re, cos);
  y_re.addcmul_(im, sin, -1);
  at::mul_out(y_im, im, cos);
  y_im.addcmul_(re, sin);
  return y;
}

// The gradient of a rotation is the rotation back: nothing but the table has to be kept.
TensorList rope_backward(const BackwardCall& call) {
  return {rotate(call.grads[0], call.saved[0], -call.saved[1])};
}

}  // namespace

RopeTable rope_table(const Tensor& positions, int64_t K, double base, const torch::TensorOptions& options) {
  if (K <= 0 || K % 2 != 0) throw Error(fmt::format("[rope_table] K: expected an even width, got {}", K));
  return rope_table(positions, rope_frequencies(K, base, {}, /*window=*/1), /*amplitude=*/1, options);
}

RopeTable rope_table(const Tensor& positions, std::span<const double> frequencies, double amplitude,
                     const torch::TensorOptions& options) {
  check_shape(positions.dim() == 1, "rope_table", "positions", "[T]", positions);
  const auto fp64 = positions.options().dtype(torch::kFloat64);
  const Tensor theta = at::tensor(at::ArrayRef<double>(frequencies.data(), frequencies.size()), fp64);
  const Tensor angles = at::outer(positions.to(torch::kFloat64), theta);
  RopeTable table{(angles.cos() * amplitude).to(options), (angles.sin() * amplitude).to(options), {}, {}};
  return prefers_few_launches(table.cos) ? with_phases(std::move(table)) : table;
}

RopeTable with_phases(RopeTable table) {
  const auto type = table.cos.scalar_type() == torch::kFloat64 ? torch::kFloat64 : torch::kFloat32;
  const Tensor cos = table.cos.to(type), sin = table.sin.to(type);
  table.phases = at::complex(cos, sin);
  table.phases_back = at::complex(cos, -sin);
  return table;
}

Tensor rope(const Tensor& x, const RopeTable& table) {
  const bool fits = x.dim() >= 2 && x.size(-2) == table.cos.size(0) && x.size(-1) == 2 * table.cos.size(1);
  check_shape(fits, "rope", "x", fmt::format("[..., {}, {}]", table.cos.size(0), 2 * table.cos.size(1)), x);
  const auto forward = [&] {
    return ForwardResult{.outputs = {rotate(x, table.cos, table.sin)}, .saved = {table.cos, table.sin}};
  };
  return with_gradient("rope", {x}, forward, rope_backward).front();
}

}  // namespace crope::ops
