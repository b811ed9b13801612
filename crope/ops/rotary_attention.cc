#include "crope/ops/rotary_attention.h"

#include <ATen/ATen.h>
#include <fmt/format.h>

#include "crope/base/error.h"
#include "crope/ops/attention.h"
#include "crope/ops/attention_heads.h"
#include "crope/ops/check.h"
#include "crope/ops/device.h"
#include "crope/ops/gradient.h"
#include "crope/ops/profile.h"
#include "crope/ops/rms_norm.h"
#include "crope/ops/slices.h"

namespace crope::ops {
namespace {

using torch::Tensor;

constexpr const char* kRotaryAttention = "rotary_attention";

// Kernels hold the scores of a block of queries for all keys that it sees. Past this length ATen's kernel, which holds
// fewer, takes over.
constexpr int64_t kLongestSequence = 8192;

// Without fused kernels: each step an operation of its own.
Tensor composed(const Tensor& q, const Tensor& k, const Tensor& v, const Tensor& q_gain, const Tensor& k_gain,
                const RopeTable& table, const RotaryAttentionOptions& options) {
  const int64_t H = options.num_heads, G = options.kv_heads();
  const auto rotated = [&](const Tensor& flat, int64_t heads, const Tensor& gain) {
    const Tensor split = split_heads(flat, heads);
    return rope(gain.defined() ? rms_norm(split, gain, options.norm_eps) : split, table);
  };
  const auto for_queries = [&](const Tensor& heads) { return G == H ? heads : heads.repeat_interleave(H / G, 1); };
  const Tensor keys = for_queries(rotated(k, G, k_gain)), values = for_queries(split_heads(v, G));
  return merge_heads(attention(rotated(q, H, q_gain), keys, values, {.scale = options.scale}));
}

// The same where launches are few: one operation in front of the scores.
Tensor composed_of_few(const Tensor& q, const Tensor& k, const Tensor& v, const Tensor& q_gain, const Tensor& k_gain,
                       const RopeTable& table, const RotaryAttentionOptions& options) {
  const int64_t H = options.num_heads, G = options.kv_heads();
  const AttentionHeads heads = attention_heads(q, k, v, q_gain, k_gain, table, H, G, options.norm_eps);
  const auto for_queries = [&](const Tensor& x) { return G == H ? x : x.repeat_interleave(H / G, 1); };
  return merge_heads(attention(heads.q, for_queries(heads.k), for_queries(heads.v), {.scale = options.scale}));
}

// What both passes know besides the tensors with gradients, which come back through autograd's own list.
struct FusedAttention {
  const Kernels& kernels;
  int64_t B, T, H, G;
  Tensor cos, sin;  // [T, K/2]
  float scale, eps;

  // `tensors` are q, k, v as [B T, ...] rows, and the gains.
  RotaryInputs inputs(const TensorList& tensors) const {
    return {.B = B,
            .T = T,
            .H = H,
            .G = G,
            .P = tensors[0].size(1) / (2 * H),
            .Pv = tensors[2].size(1) / (2 * G),
            .q = view(tensors[0]),
            .k = view(tensors[1]),
            .v = view(tensors[2]),
            .q_gain = view(tensors[3]),
            .k_gain = view(tensors[4]),
            .cos = view(cos),
            .sin = view(sin),
            .scale = scale,
            .eps = eps};
  }
};

// Operations of the forward pass below the diagonal; the backward pass needs twice that, besides making the scores
// again.
double attention_flops(const RotaryInputs& in) {
  return static_cast<double>(in.B * in.H * (in.K() + in.Kv())) * static_cast<double>(in.T * (in.T + 1));
}

ForwardResult fused_attention_forward(const FusedAttention& call, const TensorList& tensors) {
  const RotaryInputs in = call.inputs(tensors);
  count_flops(attention_flops(in));
  const Tensor y = at::empty({in.B * in.T, in.H * in.Kv()}, tensors[2].options());
  const Tensor log_sums = at::empty({in.B * in.H, in.T}, y.options());
  call.kernels.rotary_attention({.in = in, .y = mutable_view(y), .log_sums = mutable_view(log_sums)});
  TensorList saved = tensors;
  saved.insert(saved.end(), {y.detach(), log_sums});
  return {.outputs = {y}, .saved = std::move(saved)};
}

TensorList fused_attention_backward(const FusedAttention& call, const BackwardCall& back) {
  const TensorList& saved = back.saved;
  const RotaryInputs in = call.inputs(saved);
  count_flops(2 * attention_flops(in));
  const Tensor grad_y = back.grads[0].contiguous();
  TensorList grads = empty_like_slices({saved[0], saved[1], saved[2]});
  const auto gain_parts = [&](int64_t heads) {
    return in.q_gain.defined() ? at::zeros({in.B * heads, in.K()}, grad_y.options()) : Tensor();
  };
  const Tensor q_gain_parts = gain_parts(in.H), k_gain_parts = gain_parts(in.G);
  call.kernels.rotary_attention_backward({.in = in,
                                          .y = view(saved[5]),
                                          .log_sums = view(saved[6]),
                                          .grad_y = view(grad_y),
                                          .grad_q = mutable_view(grads[0]),
                                          .grad_k = mutable_view(grads[1]),
                                          .grad_v = mutable_view(grads[2]),
                                          .q_gain_parts = mutable_view(q_gain_parts),
                                          .k_gain_parts = mutable_view(k_gain_parts)});
  for (const Tensor& parts : {q_gain_parts, k_gain_parts}) grads.push_back(parts.defined() ? parts.sum(0) : Tensor());
  return grads;
}

void check_rotary_attention(const Tensor& q, const Tensor& k, const Tensor& v, const Tensor& q_gain,
                            const Tensor& k_gain, const RopeTable& table, int64_t H, int64_t G) {
  if (H % G != 0) throw Error(fmt::format("[{}] {} key/value heads do not divide {} heads", kRotaryAttention, G, H));
  check_shape(q.dim() == 3 && q.size(-1) % (2 * H) == 0, kRotaryAttention, "q", "[B, T, H K] with K even", q);
  const auto has_rows_of_q = [&](const Tensor& x) {
    return x.dim() == 3 && x.sizes().slice(0, 2) == q.sizes().slice(0, 2);
  };
  check_shape(has_rows_of_q(k) && k.size(-1) * (H / G) == q.size(-1), kRotaryAttention, "k",
              "[B, T, G K] with B, T and K of q", k);
  check_shape(has_rows_of_q(v) && v.size(-1) % (2 * G) == 0, kRotaryAttention, "v",
              "[B, T, G Kv] with B and T of q and Kv even", v);
  check_shape(table.cos.size(0) == q.size(1) && 2 * table.cos.size(1) * H == q.size(2), kRotaryAttention, "table",
              "[T, K/2] with T and K of q", table.cos);
  for (const Tensor& gain : {q_gain, k_gain}) {
    check_shape(!gain.defined() || (gain.dim() == 1 && gain.size(0) * H == q.size(2)), kRotaryAttention, "gain", "[K]",
                gain);
  }
}

}  // namespace

Tensor split_heads(const Tensor& x, int64_t num_heads) {
  const int64_t B = x.size(0), T = x.size(1), width = x.size(2) / num_heads;
  return x.unflatten(2, {2, num_heads, width / 2}).permute({0, 3, 1, 2, 4}).reshape({B, num_heads, T, width});
}

Tensor merge_heads(const Tensor& heads) {
  const int64_t B = heads.size(0), H = heads.size(1), T = heads.size(2), width = heads.size(3);
  return heads.reshape({B, H, T, 2, width / 2}).permute({0, 2, 3, 1, 4}).reshape({B, T, H * width});
}

Tensor rotary_attention(const Tensor& q, const Tensor& k, const Tensor& v, const Tensor& q_gain, const Tensor& k_gain,
                        const RopeTable& table, const RotaryAttentionOptions& options) {
  const int64_t H = options.num_heads, G = options.kv_heads();
  check_rotary_attention(q, k, v, q_gain, k_gain, table, H, G);
  const Kernels& kernels = kernels_for({q, k, v, q_gain, k_gain, table.cos, table.sin});
  const bool same_norm = q_gain.defined() == k_gain.defined();
  if (same_norm && prefers_few_launches(q)) return composed_of_few(q, k, v, q_gain, k_gain, table, options);
  if (!same_norm || q.size(1) > kLongestSequence || kernels.rotary_attention == nullptr) {
    return composed(q, k, v, q_gain, k_gain, table, options);
  }
  const FusedAttention call{.kernels = kernels,
                            .B = q.size(0),
                            .T = q.size(1),
                            .H = H,
                            .G = G,
                            .cos = table.cos.contiguous(),
                            .sin = table.sin.contiguous(),
                            .scale = static_cast<float>(options.scale),
                            .eps = static_cast<float>(options.norm_eps)};
  const TensorList tensors = {as_rows(q), as_rows(k), as_rows(v), q_gain, k_gain};
  const Tensor y = with_gradient(
                       kRotaryAttention, tensors, [&] { return fused_attention_forward(call, tensors); },
                       [call](const BackwardCall& back) { return fused_attention_backward(call, back); })
                       .front();
  return y.view({q.size(0), q.size(1), -1});
}

}  // namespace crope::ops
