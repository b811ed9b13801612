#include "crope/ops/rotary_attention.h"

#include <ATen/ATen.h>
#include <ATen/Parallel.h>

#include <algorithm>

#include "crope/base/rounding.h"
#include "crope/ops/attention.h"
#include "crope/ops/check.h"
#include "crope/ops/cpu/product_kernel.h"
#include "crope/ops/cpu/rotary_heads.h"
#include "crope/ops/cpu/softmax_rows.h"
#include "crope/ops/fused.h"
#include "crope/ops/gradient.h"
#include "crope/ops/profile.h"
#include "crope/ops/rms_norm.h"
#include "crope/ops/slices.h"

namespace crope::ops {
namespace {

using torch::Tensor;

constexpr const char* kRotaryAttention = "rotary_attention";

// Queries of one block of scores. A multiple of the rows of a tile on all instruction sets.
constexpr int64_t kBlockRows = 96;

// Scores of a block are held for all keys that it sees. Past this length ATen's kernel, which holds fewer, takes over.
constexpr int64_t kLongestSequence = 8192;

// Without fused kernels: each step an operation of its own.
Tensor composed(const Tensor& q, const Tensor& k, const Tensor& v, const Tensor& q_gain, const Tensor& k_gain,
                const RopeTable& table, const RotaryAttentionOptions& options) {
  const auto rotated = [&](const Tensor& flat, const Tensor& gain) {
    const Tensor heads = split_heads(flat, options.num_heads);
    return rope(gain.defined() ? rms_norm(heads, gain, options.norm_eps) : heads, table);
  };
  const Tensor out =
      attention(rotated(q, q_gain), rotated(k, k_gain), split_heads(v, options.num_heads), {.scale = options.scale});
  return merge_heads(out);
}

struct Shape {
  int64_t B, T, H, P, Pv;  // pairs of a head of q and k, and of v

  int64_t K() const { return 2 * P; }
  int64_t Kv() const { return 2 * Pv; }
  int64_t tasks() const { return B * H; }
  // Of the forward pass below the diagonal; the backward pass needs twice that, besides making the scores again.
  double flops() const { return static_cast<double>(tasks() * (K() + Kv())) * static_cast<double>(T * (T + 1)); }
};

// Head h of batch row b in x[B T, 2 H pairs].
cpu::HeadHalves head_of(const Tensor& x, const Shape& shape, int64_t task, int64_t pairs) {
  const int64_t b = task / shape.H, h = task % shape.H;
  float* row = const_cast<float*>(x.const_data_ptr<float>()) + b * shape.T * x.stride(0) + h * pairs;
  return {.re = row, .im = row + shape.H * pairs, .stride = x.stride(0)};
}

const float* data_or_null(const Tensor& x) {
  return x.defined() ? x.const_data_ptr<float>() : nullptr;
}

// What both passes know of a call.
struct Call {
  Shape shape;
  Tensor q, k, v;         // [B T, ...] rows
  Tensor q_gain, k_gain;  // or undefined
  Tensor cos, sin;
  float scale, eps;

  void rotated_head(const Tensor& x, const Tensor& gain, int64_t task, float* out) const {
    cpu::rotary_head({.T = shape.T,
                      .P = shape.P,
                      .x = head_of(x, shape, task, shape.P),
                      .gain = data_or_null(gain),
                      .eps = eps,
                      .cos = cos.const_data_ptr<float>(),
                      .sin = sin.const_data_ptr<float>(),
                      .out = out});
  }
  void plain_head(const Tensor& x, int64_t task, float* out) const {
    cpu::rotary_head({.T = shape.T,
                      .P = shape.Pv,
                      .x = head_of(x, shape, task, shape.Pv),
                      .gain = nullptr,
                      .eps = 0,
                      .cos = nullptr,
                      .sin = nullptr,
                      .out = out});
  }
};

// Memory for each thread's work on one head, in pieces of the sizes asked for.
class Scratch {
 public:
  explicit Scratch(std::initializer_list<int64_t> sizes) : sizes_(sizes) {
    for (int64_t& size : sizes_) size = round_up(size, 16) + 16;
    for (const int64_t size : sizes_) total_ += size;
    memory_ = at::empty({at::get_num_threads() * total_}, torch::kFloat32);
  }
  std::vector<float*> of(int64_t worker) const {
    std::vector<float*> pieces;
    float* next = memory_.data_ptr<float>() + worker * total_;
    for (const int64_t size : sizes_) {
      pieces.push_back(next);
      next += size;
    }
    return pieces;
  }

 private:
  std::vector<int64_t> sizes_;
  int64_t total_ = 0;
  Tensor memory_;
};

// The right operand of products of one head, packed once for all blocks of queries.
struct PackedRight {
  const float* panels;
  int64_t panel_floats;

  static int64_t floats(int64_t terms, int64_t columns) {
    return terms * round_up(columns, cpu::product_tile().columns);
  }
  // b[terms, columns] of rows that are `stride` floats apart, or its transpose's.
  PackedRight(const float* b, int64_t stride, bool transposed, int64_t terms, int64_t columns, float* memory)
      : panels(memory), panel_floats(terms * cpu::product_tile().columns) {
    cpu::pack_right({.first = b, .stride = stride, .transposed = transposed}, {0, columns, 0, terms}, memory);
  }
};

// The left operand of a product: rows that are `stride` floats apart, or its columns.
struct LeftRows {
  const float* data;
  int64_t stride;
  bool transposed = false;
};

// c[rows, columns] <- a[rows, terms] b, of which the first columns and terms count; added where asked for. a is packed
// into `memory`, some rows and terms at a time: so much stays in the caches.
struct HeadProduct {
  int64_t rows, columns, terms;
  LeftRows a;
  const PackedRight& b;
  float* c;
  int64_t c_stride;
  cpu::Triangles triangles;
  bool add = false;
};
constexpr int64_t kLeftTerms = 512;

void multiply_head(const HeadProduct& call, float* memory) {
  for (int64_t row = 0; row < call.rows; row += kBlockRows) {
    const int64_t rows = std::min(kBlockRows, call.rows - row);
    for (int64_t term = 0; term < call.terms; term += kLeftTerms) {
      const int64_t terms = std::min(kLeftTerms, call.terms - term);
      cpu::pack_left({.first = call.a.data, .stride = call.a.stride, .transposed = call.a.transposed},
                     {row, rows, term, terms}, memory);
      const cpu::ProductTarget target{.data = call.c + row * call.c_stride, .add = call.add || term > 0};
      cpu::multiply_packed({.rows = rows,
                            .columns = call.columns,
                            .terms = terms,
                            .a = memory,
                            .b = call.b.panels + term * cpu::product_tile().columns,
                            .b_stride = call.b.panel_floats,
                            .target_stride = call.c_stride,
                            .targets = {&target, 1},
                            .triangles = call.triangles.from(row, 0, term)});
    }
  }
}

// One head of the forward pass: y and the log-sums of its rows.
void forward_head(const Call& call, int64_t task, const std::vector<float*>& scratch, const Tensor& y,
                  float* log_sums) {
  const Shape& s = call.shape;
  const int64_t T = s.T, K = s.K(), Kv = s.Kv();
  float *q = scratch[0], *kv = scratch[1], *scores = scratch[4], *out = scratch[5], *left = scratch[6];
  call.rotated_head(call.k, call.k_gain, task, kv);
  const PackedRight k(kv, K, /*transposed=*/true, K, T, scratch[2]);
  call.plain_head(call.v, task, kv);
  const PackedRight v(kv, Kv, /*transposed=*/false, T, Kv, scratch[3]);
  call.rotated_head(call.q, call.q_gain, task, q);
  cpu::HeadHalves to = head_of(y, s, task, s.Pv);
  for (int64_t row = 0; row < T; row += kBlockRows) {
    const int64_t rows = std::min(kBlockRows, T - row), columns = row + rows;
    multiply_head({rows, columns, K, {q + row * K, K}, k, scores, T, {.last_column = row}}, left);
    cpu::attention_softmax({.rows = rows,
                            .columns = columns,
                            .stride = T,
                            .first = row,
                            .scale = call.scale,
                            .scores = scores,
                            .log_sums = log_sums + row});
    multiply_head({rows, Kv, columns, {scores, T}, v, out, Kv, {.last_term = row}}, left);
    cpu::head_to_halves(rows, s.Pv, out, {to.re + row * to.stride, to.im + row * to.stride, to.stride});
  }
}

// What the backward pass of one head reads and writes.
struct HeadGradients {
  const Tensor &y, &grad_y;  // [B T, 2 H Pv]
  const float* log_sums;     // of this head
  const Tensor &gq, &gk, &gv;
  float *grad_q_gain, *grad_k_gain;  // of this head alone; null without gains
};

void backward_head(const Call& call, int64_t task, const std::vector<float*>& scratch, const HeadGradients& g) {
  const Shape& s = call.shape;
  const int64_t T = s.T, K = s.K(), Kv = s.Kv();
  float *q = scratch[0], *dy = scratch[1], *dq = scratch[2], *dk = scratch[3], *dv = scratch[4], *p = scratch[5];
  float *ds = scratch[6], *delta = scratch[7], *right = scratch[8], *left = scratch[9];
  call.rotated_head(call.k, call.k_gain, task, dk);
  const PackedRight k(dk, K, /*transposed=*/false, T, K, scratch[10]);
  const PackedRight k_turned(dk, K, /*transposed=*/true, K, T, scratch[11]);
  call.plain_head(call.v, task, dv);
  const PackedRight v_turned(dv, Kv, /*transposed=*/true, Kv, T, scratch[12]);
  call.rotated_head(call.q, call.q_gain, task, q);
  call.plain_head(g.grad_y, task, dy);
  cpu::head_row_products(T, s.Pv, head_of(g.y, s, task, s.Pv), head_of(g.grad_y, s, task, s.Pv), delta);
  // From the last block up: it sees all keys, so it is the one that need not add to their gradients.
  for (int64_t row = (T - 1) / kBlockRows * kBlockRows; row >= 0; row -= kBlockRows) {
    const int64_t rows = std::min(kBlockRows, T - row), columns = row + rows;
    const bool add = columns < T;
    const float *q_rows = q + row * K, *dy_rows = dy + row * Kv;
    multiply_head({rows, columns, K, {q_rows, K}, k_turned, p, T, {.last_column = row}}, left);
    multiply_head({rows, columns, Kv, {dy_rows, Kv}, v_turned, ds, T, {.last_column = row}}, left);
    cpu::attention_softmax_backward({.rows = rows,
                                     .columns = columns,
                                     .stride = T,
                                     .first = row,
                                     .scale = call.scale,
                                     .scores = p,
                                     .log_sums = g.log_sums + row,
                                     .grad = ds,
                                     .delta = delta + row});
    const PackedRight dy_block(dy_rows, Kv, /*transposed=*/false, rows, Kv, right);
    multiply_head({columns, Kv, rows, {p, T, true}, dy_block, dv, Kv, {.first_term = -row}, add}, left);
    const PackedRight q_block(q_rows, K, /*transposed=*/false, rows, K, right);
    multiply_head({columns, K, rows, {ds, T, true}, q_block, dk, K, {.first_term = -row}, add}, left);
    multiply_head({rows, K, columns, {ds, T}, k, dq + row * K, K, {.last_term = row}}, left);
  }
  const auto turn_back = [&](const Tensor& x, const Tensor& gain, const float* grad, const Tensor& gx,
                             float* grad_gain) {
    cpu::rotary_head_backward({.T = T,
                               .P = s.P,
                               .x = head_of(x, s, task, s.P),
                               .gain = data_or_null(gain),
                               .eps = call.eps,
                               .cos = call.cos.const_data_ptr<float>(),
                               .sin = call.sin.const_data_ptr<float>(),
                               .grad = grad,
                               .gx = head_of(gx, s, task, s.P),
                               .grad_gain = grad_gain});
  };
  turn_back(call.q, call.q_gain, dq, g.gq, g.grad_q_gain);
  turn_back(call.k, call.k_gain, dk, g.gk, g.grad_k_gain);
  cpu::head_to_halves(T, s.Pv, dv, head_of(g.gv, s, task, s.Pv));
}

ForwardResult fused_attention_forward(const Call& call) {
  const Shape& s = call.shape;
  count_flops(s.flops());
  Tensor y = at::empty({s.B * s.T, s.H * s.Kv()}, call.q.options());
  const Tensor log_sums = at::empty({s.tasks(), s.T}, call.q.options());
  const int64_t K = s.K(), Kv = s.Kv(), wider = std::max(K, Kv);
  const Scratch scratch{s.T * K,          s.T * wider,     PackedRight::floats(K, s.T), PackedRight::floats(s.T, Kv),
                        kBlockRows * s.T, kBlockRows * Kv, kBlockRows * kLeftTerms};
  parallel_items(s.tasks(), [&](int64_t task, int64_t worker) {
    forward_head(call, task, scratch.of(worker), y, log_sums.data_ptr<float>() + task * s.T);
  });
  return {.outputs = {y}, .saved = {call.q, call.k, call.v, call.q_gain, call.k_gain, y.detach(), log_sums}};
}

TensorList fused_attention_backward(const BackwardCall& back, Call call) {
  const Shape& s = call.shape;
  call.q = back.saved[0], call.k = back.saved[1], call.v = back.saved[2];
  call.q_gain = back.saved[3], call.k_gain = back.saved[4];
  const Tensor &y = back.saved[5], &log_sums = back.saved[6], grad_y = back.grads[0].contiguous();
  const TensorList grads = empty_like_slices({call.q, call.k, call.v});
  const bool has_gains = call.q_gain.defined();
  count_flops(2 * s.flops());
  const Tensor gain_parts = has_gains ? at::zeros({2, s.tasks(), s.K()}, grad_y.options()) : Tensor();
  const int64_t K = s.K(), Kv = s.Kv(), head = s.T * K, head_v = s.T * Kv, scores = kBlockRows * s.T;
  const Scratch scratch{head,
                        head_v,
                        head,
                        head,
                        head_v,
                        scores,
                        scores,
                        s.T,
                        PackedRight::floats(kBlockRows, std::max(K, Kv)),
                        kBlockRows * kLeftTerms,
                        PackedRight::floats(s.T, K),
                        PackedRight::floats(K, s.T),
                        PackedRight::floats(Kv, s.T)};
  parallel_items(s.tasks(), [&](int64_t task, int64_t worker) {
    float* q_part = has_gains ? gain_parts.data_ptr<float>() + task * s.K() : nullptr;
    float* k_part = has_gains ? q_part + s.tasks() * s.K() : nullptr;
    backward_head(call, task, scratch.of(worker),
                  {.y = y,
                   .grad_y = grad_y,
                   .log_sums = log_sums.const_data_ptr<float>() + task * s.T,
                   .gq = grads[0],
                   .gk = grads[1],
                   .gv = grads[2],
                   .grad_q_gain = q_part,
                   .grad_k_gain = k_part});
  });
  if (!has_gains) return {grads[0], grads[1], grads[2], Tensor(), Tensor()};
  return {grads[0], grads[1], grads[2], gain_parts[0].sum(0), gain_parts[1].sum(0)};
}

void check_rotary_attention(const Tensor& q, const Tensor& k, const Tensor& v, const Tensor& q_gain,
                            const Tensor& k_gain, const RopeTable& table, int64_t H) {
  check_shape(q.dim() == 3 && q.size(-1) % (2 * H) == 0, kRotaryAttention, "q", "[B, T, H K] with K even", q);
  check_shape(k.sizes() == q.sizes(), kRotaryAttention, "k", "the shape of q", k);
  check_shape(v.dim() == 3 && v.sizes().slice(0, 2) == q.sizes().slice(0, 2) && v.size(-1) % (2 * H) == 0,
              kRotaryAttention, "v", "[B, T, H Kv] with B and T of q and Kv even", v);
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
  const int64_t H = options.num_heads;
  check_rotary_attention(q, k, v, q_gain, k_gain, table, H);
  const bool one_kind = q_gain.defined() == k_gain.defined();
  if (!one_kind || q.size(1) > kLongestSequence || !cpu::product_kernels_pay() ||
      !fused_for({q, k, v, q_gain, k_gain, table.cos, table.sin})) {
    return composed(q, k, v, q_gain, k_gain, table, options);
  }
  Call call{.shape = {.B = q.size(0), .T = q.size(1), .H = H, .P = q.size(2) / (2 * H), .Pv = v.size(2) / (2 * H)},
            .q = as_rows(q),
            .k = as_rows(k),
            .v = as_rows(v),
            .q_gain = q_gain,
            .k_gain = k_gain,
            .cos = table.cos.contiguous(),
            .sin = table.sin.contiguous(),
            .scale = static_cast<float>(options.scale),
            .eps = static_cast<float>(options.norm_eps)};
  Call kept = call;  // the tables and numbers; tensors with gradients come back through autograd's own list
  kept.q = kept.k = kept.v = kept.q_gain = kept.k_gain = Tensor();
  const Tensor y = with_gradient(
                       kRotaryAttention, {call.q, call.k, call.v, call.q_gain, call.k_gain},
                       [&] { return fused_attention_forward(call); },
                       [kept](const BackwardCall& back) { return fused_attention_backward(back, kept); })
                       .front();
  return y.view({q.size(0), q.size(1), v.size(2)});
}

}  // namespace crope::ops
