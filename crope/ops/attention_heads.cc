#include "crope/ops/attention_heads.h"

#include <ATen/ATen.h>

#include "crope/ops/derived_weights.h"
#include "crope/ops/gradient.h"
#include "crope/ops/normalised.h"

namespace crope::ops {
namespace {

using torch::Tensor;

// x[B, T, H K] in halves as [B, H, T, K/2, 2], a view.
Tensor pairs_view(const Tensor& x, std::int64_t heads) {
  const std::int64_t P = x.size(2) / (2 * heads);
  return x.as_strided({x.size(0), heads, x.size(1), P, 2},
                      {x.stride(0), P * x.stride(2), x.stride(1), x.stride(2), heads * P * x.stride(2)},
                      x.storage_offset());
}

// The same as [B, H, T, 2, K/2].
Tensor halves_view(const Tensor& x, std::int64_t heads) {
  return pairs_view(x, heads).transpose(3, 4);
}

// The gain [K] of halves as one of pairs, made once a step.
Tensor gain_of_pairs(const Tensor& gain) {
  return derived_weight("pairs", {gain}, gain.scalar_type(), [&] {
    return gain.detach().view({2, gain.size(0) / 2}).t().contiguous().view({gain.size(0)});
  });
}

struct Phases {
  Tensor forward, backward;  // complex [T, K/2]
};

// What one of q and k leaves for its gradient.
struct Turned {
  Tensor out;    // [B, H, T, K]
  Tensor pairs;  // what was normalised; undefined without a gain
  Tensor gain;   // of pairs
  Tensor scale;
};

Turned turn(const Tensor& flat, std::int64_t heads, const Tensor& gain, const Phases& phases, double eps) {
  const Tensor view = pairs_view(flat, heads);
  const auto type = c10::toRealValueType(phases.forward.scalar_type());
  Turned result;
  Tensor pairs = at::empty(view.sizes(), flat.options().dtype(type)).copy_(view);
  const std::vector<std::int64_t> shape = {view.size(0), heads, view.size(2), 2 * view.size(3)};
  if (gain.defined()) {
    result.gain = gain_of_pairs(gain);
    result.pairs = pairs.view(shape);
    Normalised norm = normalised(result.pairs, result.gain, eps);
    result.scale = std::move(norm.scale);
    pairs = norm.y.view(view.sizes());
  }
  const Tensor turned = at::view_as_complex(pairs) * phases.forward;
  result.out = at::view_as_real(turned).view(shape).to(flat.scalar_type());
  return result;
}

// Writes the gradient of `flat` into `grad_flat` and returns that of the gain.
Tensor turn_back(const Tensor& grad_out, const Turned& turned, const Phases& phases, const Tensor& grad_flat,
                 std::int64_t heads, bool wants_gain) {
  const auto type = c10::toRealValueType(phases.forward.scalar_type());
  const Tensor target = pairs_view(grad_flat, heads);
  const Tensor wide = grad_out.to(type).contiguous().view(target.sizes());
  Tensor pairs = at::view_as_real(at::view_as_complex(wide) * phases.backward);
  if (!turned.gain.defined()) {
    target.copy_(pairs);
    return {};
  }
  const NormGradients grads = normalised_backward(pairs.view(grad_out.sizes()), turned.pairs, turned.gain, turned.scale,
                                                  /*wants_x=*/true, wants_gain);
  target.copy_(grads.x.view(target.sizes()));
  if (!wants_gain) return {};
  return grads.gain.view({grads.gain.size(0) / 2, 2}).t().reshape({-1});
}

ForwardResult heads_forward(const TensorList& inputs, const RopeTable& table, std::int64_t H, std::int64_t G,
                            double eps) {
  const Tensor &q = inputs[0], &k = inputs[1], &v = inputs[2];
  const Phases phases{table.phases, table.phases_back};
  const Turned q_turned = turn(q, H, inputs[3], phases, eps), k_turned = turn(k, G, inputs[4], phases, eps);
  const Tensor v_view = halves_view(v, G);
  const Tensor v_heads = at::empty(v_view.sizes(), v.options()).copy_(v_view).flatten(3);
  ForwardResult result{.outputs = {q_turned.out, k_turned.out, v_heads}, .saved = {}};
  for (const Turned& turned : {q_turned, k_turned}) {
    result.saved.insert(result.saved.end(), {turned.pairs, turned.gain, turned.scale});
  }
  result.saved.insert(result.saved.end(), {phases.forward, phases.backward});
  return result;
}

// The gradients of q, k and v are columns of one matrix, which the product behind takes as one.
TensorList heads_backward(const BackwardCall& call, std::int64_t H, std::int64_t G) {
  const TensorList &saved = call.saved, &grads = call.grads;
  const Phases phases{saved[6], saved[7]};
  const std::int64_t heads[] = {H, G, G}, B = grads[0].size(0), T = grads[0].size(2);
  std::int64_t width = 0;
  for (std::size_t i = 0; i < 3; ++i) width += heads[i] * grads[i].size(3);
  const Tensor wide = at::empty({B, T, width}, grads[0].options());
  TensorList results(5);
  std::int64_t column = 0;
  for (std::size_t i = 0; i < 3; ++i) {
    results[i] = wide.narrow(2, column, heads[i] * grads[i].size(3));
    column += results[i].size(2);
  }
  for (std::size_t i = 0; i < 2; ++i) {
    const Turned turned{{}, saved[3 * i], saved[3 * i + 1], saved[3 * i + 2]};
    results[3 + i] = turn_back(grads[i], turned, phases, results[i], heads[i], call.needed[3 + i]);
  }
  const Tensor v_view = halves_view(results[2], G);
  v_view.copy_(grads[2].unflatten(3, {2, grads[2].size(3) / 2}));
  return results;
}

}  // namespace

AttentionHeads attention_heads(const Tensor& q, const Tensor& k, const Tensor& v, const Tensor& q_gain,
                               const Tensor& k_gain, const RopeTable& table, std::int64_t H, std::int64_t G,
                               double eps) {
  const RopeTable complex = table.phases.defined() ? table : with_phases(table);
  const TensorList inputs = {q, k, v, q_gain, k_gain};
  const TensorList outputs = with_gradient(
      "attention_heads", inputs, [&] { return heads_forward(inputs, complex, H, G, eps); },
      [H, G](const BackwardCall& call) { return heads_backward(call, H, G); });
  return {outputs[0], outputs[1], outputs[2]};
}

}  // namespace crope::ops
