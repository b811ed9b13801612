#include <algorithm>

#include "crope/base/parallel.h"
#include "crope/base/rounding.h"
#include "crope/ops/cpu/kernels.h"
#include "crope/ops/cpu/product_kernel.h"
#include "crope/ops/cpu/rotary_heads.h"
#include "crope/ops/cpu/scratch.h"
#include "crope/ops/cpu/softmax_rows.h"

namespace crope::ops::cpu {
namespace {

// Queries of one block of scores. A multiple of the rows of a tile on all instruction sets.
constexpr std::int64_t kBlockRows = 96;

// Terms of a left operand that are packed at a time.
constexpr std::int64_t kLeftTerms = 512;

// Which head of which row of the batch: `index` counts through the heads of all rows, `heads` are those of one row.
struct HeadPlace {
  std::int64_t index, heads;
};

// The head in x[B T, 2 heads pairs].
template <typename Number>
HeadHalvesOf<Number> head_of(const MatrixView<Number>& x, const RotaryInputs& in, HeadPlace place, std::int64_t pairs) {
  Number* row = x.row(place.index / place.heads * in.T) + place.index % place.heads * pairs;
  return {.re = row, .im = row + place.heads * pairs, .stride = x.stride};
}

// The head's queries or keys, normalised and turned to their positions: out[T, K].
void rotated_head(const RotaryInputs& in, const ConstMatrix& x, const ConstMatrix& gain, HeadPlace place, float* out) {
  rotary_head({.T = in.T,
               .P = in.P,
               .x = head_of(x, in, place, in.P),
               .gain = gain.data,
               .eps = in.eps,
               .cos = in.cos.data,
               .sin = in.sin.data,
               .out = out});
}

// The head's values, as they are: out[T, Kv].
void plain_head(const RotaryInputs& in, const ConstMatrix& x, HeadPlace place, float* out) {
  rotary_head({.T = in.T,
               .P = in.Pv,
               .x = head_of(x, in, place, in.Pv),
               .gain = nullptr,
               .eps = 0,
               .cos = nullptr,
               .sin = nullptr,
               .out = out});
}

// Cuts memory into pieces that begin at cache lines; without memory it only counts.
class Pieces {
 public:
  explicit Pieces(float* memory) : memory_(memory) {}
  float* take(std::int64_t floats) {
    const std::int64_t first = used_;
    used_ += round_up(floats, 16) + 16;
    return memory_ == nullptr ? nullptr : memory_ + first;
  }
  std::int64_t used() const { return used_; }

 private:
  float* memory_;
  std::int64_t used_ = 0;
};

// Floats of a right operand [terms, columns] in panels.
std::int64_t panel_floats(std::int64_t terms, std::int64_t columns) {
  return terms * round_up(columns, product_tile().columns);
}

// What a thread needs for one head of keys and values in the forward pass.
struct ForwardScratch {
  ForwardScratch(const RotaryInputs& in, float* memory) {
    Pieces pieces(memory);
    q = pieces.take(in.T * in.K());
    k_or_v = pieces.take(in.T * std::max(in.K(), in.Kv()));
    k_panels = pieces.take(panel_floats(in.K(), in.T));
    v_panels = pieces.take(panel_floats(in.T, in.Kv()));
    scores = pieces.take(kBlockRows * in.T);
    out = pieces.take(kBlockRows * in.Kv());
    left_panels = pieces.take(kBlockRows * kLeftTerms);
    floats = pieces.used();
  }
  float *q, *k_or_v, *k_panels, *v_panels, *scores, *out, *left_panels;
  std::int64_t floats;
};

// The same for the backward pass. Keys and values stand where their gradients will, until they are packed.
struct BackwardScratch {
  BackwardScratch(const RotaryInputs& in, float* memory) {
    Pieces pieces(memory);
    q = pieces.take(in.T * in.K());
    grad_y = pieces.take(in.T * in.Kv());
    grad_q = pieces.take(in.T * in.K());
    grad_k = pieces.take(in.T * in.K());
    grad_v = pieces.take(in.T * in.Kv());
    probabilities = pieces.take(kBlockRows * in.T);
    grad_scores = pieces.take(kBlockRows * in.T);
    delta = pieces.take(in.T);
    block_panels = pieces.take(panel_floats(kBlockRows, std::max(in.K(), in.Kv())));
    left_panels = pieces.take(kBlockRows * kLeftTerms);
    k_panels = pieces.take(panel_floats(in.T, in.K()));
    k_transposed_panels = pieces.take(panel_floats(in.K(), in.T));
    v_transposed_panels = pieces.take(panel_floats(in.Kv(), in.T));
    floats = pieces.used();
  }
  float *q, *grad_y, *grad_q, *grad_k, *grad_v, *probabilities, *grad_scores, *delta;
  float *block_panels, *left_panels, *k_panels, *k_transposed_panels, *v_transposed_panels;
  std::int64_t floats;
};

// The right operand of products of one head, packed once for all blocks of queries.
struct PackedRight {
  const float* panels;
  std::int64_t panel_stride;

  // b[terms, columns] of rows that are `stride` floats apart, or its transpose's.
  PackedRight(const float* b, std::int64_t stride, bool transposed, std::int64_t terms, std::int64_t columns,
              float* memory)
      : panels(memory), panel_stride(terms * product_tile().columns) {
    pack_right({.first = b, .stride = stride, .transposed = transposed}, {0, columns, 0, terms}, memory);
  }
};

// The left operand of a product: rows that are `stride` floats apart, or its columns.
struct LeftRows {
  const float* data;
  std::int64_t stride;
  bool transposed = false;
};

// c[rows, columns] <- a[rows, terms] b, of which the first columns and terms count; added where wanted.
struct HeadProduct {
  std::int64_t rows, columns, terms;
  LeftRows a;
  const PackedRight& b;
  float* c;
  std::int64_t c_stride;
  Triangles triangles;
  bool add = false;
};

// Packs a into `left_panels`, some rows and terms at a time: so much stays in the caches.
void multiply_head(const HeadProduct& call, float* left_panels) {
  for (std::int64_t row = 0; row < call.rows; row += kBlockRows) {
    const std::int64_t rows = std::min(kBlockRows, call.rows - row);
    for (std::int64_t term = 0; term < call.terms; term += kLeftTerms) {
      const std::int64_t terms = std::min(kLeftTerms, call.terms - term);
      pack_left({.first = call.a.data, .stride = call.a.stride, .transposed = call.a.transposed},
                {row, rows, term, terms}, left_panels);
      const ProductTarget target{.data = call.c + row * call.c_stride, .add = call.add || term > 0};
      multiply_packed({.rows = rows,
                       .columns = call.columns,
                       .terms = terms,
                       .a = left_panels,
                       .b = call.b.panels + term * product_tile().columns,
                       .b_stride = call.b.panel_stride,
                       .target_stride = call.c_stride,
                       .targets = {&target, 1},
                       .triangles = call.triangles.from(row, 0, term)});
    }
  }
}

// The queries of one head, over keys and values that are packed.
void forward_queries(const RotaryAttention& call, HeadPlace query, const PackedRight& k, const PackedRight& v,
                     const ForwardScratch& s) {
  const RotaryInputs& in = call.in;
  const std::int64_t T = in.T, K = in.K(), Kv = in.Kv();
  rotated_head(in, in.q, in.q_gain, query, s.q);
  const HeadHalves y = head_of(call.y, in, query, in.Pv);
  for (std::int64_t row = 0; row < T; row += kBlockRows) {
    const std::int64_t rows = std::min(kBlockRows, T - row), columns = row + rows;
    multiply_head({rows, columns, K, {s.q + row * K, K}, k, s.scores, T, {.last_column = row}}, s.left_panels);
    attention_softmax({.rows = rows,
                       .columns = columns,
                       .stride = T,
                       .first = row,
                       .scale = in.scale,
                       .scores = s.scores,
                       .log_sums = call.log_sums.row(query.index) + row});
    multiply_head({rows, Kv, columns, {s.scores, T}, v, s.out, Kv, {.last_term = row}}, s.left_panels);
    head_to_halves(rows, in.Pv, s.out, {y.re + row * y.stride, y.im + row * y.stride, y.stride});
  }
}

// Head `task` of keys and values with all queries that read it.
void forward_group(const RotaryAttention& call, std::int64_t task, const ForwardScratch& s) {
  const RotaryInputs& in = call.in;
  const std::int64_t T = in.T, K = in.K(), Kv = in.Kv();
  const HeadPlace head{task, in.G};
  rotated_head(in, in.k, in.k_gain, head, s.k_or_v);
  const PackedRight k(s.k_or_v, K, /*transposed=*/true, K, T, s.k_panels);
  plain_head(in, in.v, head, s.k_or_v);
  const PackedRight v(s.k_or_v, Kv, /*transposed=*/false, T, Kv, s.v_panels);
  for (std::int64_t i = 0; i < in.group(); ++i) forward_queries(call, {task * in.group() + i, in.H}, k, v, s);
}

// A head of keys and values as the products of the backward pass read it.
struct PackedHead {
  PackedRight k, k_transposed, v_transposed;
};

enum class GroupSum { begin, add };

// grad is that of a head of x after its turn.
void turn_back(const RotaryInputs& in, const ConstMatrix& x, const ConstMatrix& gain, HeadPlace place,
               const float* grad, const Matrix& grad_x, const Matrix& gain_parts) {
  rotary_head_backward({.T = in.T,
                        .P = in.P,
                        .x = head_of(x, in, place, in.P),
                        .gain = gain.data,
                        .eps = in.eps,
                        .cos = in.cos.data,
                        .sin = in.sin.data,
                        .grad = grad,
                        .gx = head_of(grad_x, in, place, in.P),
                        .grad_gain = gain_parts.defined() ? gain_parts.row(place.index) : nullptr});
}

// The queries of one head: their gradient, and what they give to that of the keys and values.
void backward_queries(const RotaryAttentionBackward& call, HeadPlace query, const PackedHead& head, GroupSum sum,
                      const BackwardScratch& s) {
  const RotaryInputs& in = call.in;
  const std::int64_t T = in.T, K = in.K(), Kv = in.Kv();
  const float* log_sums = call.log_sums.row(query.index);
  rotated_head(in, in.q, in.q_gain, query, s.q);
  plain_head(in, call.grad_y, query, s.grad_y);
  head_row_products(T, in.Pv, head_of(call.y, in, query, in.Pv), head_of(call.grad_y, in, query, in.Pv), s.delta);
  // From the last block up: it sees all keys, so it is the one that need not add to their gradients.
  for (std::int64_t row = (T - 1) / kBlockRows * kBlockRows; row >= 0; row -= kBlockRows) {
    const std::int64_t rows = std::min(kBlockRows, T - row), columns = row + rows;
    const bool add = columns < T || sum == GroupSum::add;
    const float *q_rows = s.q + row * K, *grad_y_rows = s.grad_y + row * Kv;
    multiply_head({rows, columns, K, {q_rows, K}, head.k_transposed, s.probabilities, T, {.last_column = row}},
                  s.left_panels);
    multiply_head({rows, columns, Kv, {grad_y_rows, Kv}, head.v_transposed, s.grad_scores, T, {.last_column = row}},
                  s.left_panels);
    attention_softmax_backward({.rows = rows,
                                .columns = columns,
                                .stride = T,
                                .first = row,
                                .scale = in.scale,
                                .scores = s.probabilities,
                                .log_sums = log_sums + row,
                                .grad = s.grad_scores,
                                .delta = s.delta + row});
    const PackedRight grad_y_block(grad_y_rows, Kv, /*transposed=*/false, rows, Kv, s.block_panels);
    multiply_head(
        {columns, Kv, rows, {s.probabilities, T, true}, grad_y_block, s.grad_v, Kv, {.first_term = -row}, add},
        s.left_panels);
    const PackedRight q_block(q_rows, K, /*transposed=*/false, rows, K, s.block_panels);
    multiply_head({columns, K, rows, {s.grad_scores, T, true}, q_block, s.grad_k, K, {.first_term = -row}, add},
                  s.left_panels);
    multiply_head({rows, K, columns, {s.grad_scores, T}, head.k, s.grad_q + row * K, K, {.last_term = row}},
                  s.left_panels);
  }
  turn_back(in, in.q, in.q_gain, query, s.grad_q, call.grad_q, call.q_gain_parts);
}

// Head `task` of keys and values with all queries that read it.
void backward_group(const RotaryAttentionBackward& call, std::int64_t task, const BackwardScratch& s) {
  const RotaryInputs& in = call.in;
  const std::int64_t T = in.T, K = in.K(), Kv = in.Kv();
  const HeadPlace head{task, in.G};
  rotated_head(in, in.k, in.k_gain, head, s.grad_k);
  plain_head(in, in.v, head, s.grad_v);
  const PackedHead packed{PackedRight(s.grad_k, K, /*transposed=*/false, T, K, s.k_panels),
                          PackedRight(s.grad_k, K, /*transposed=*/true, K, T, s.k_transposed_panels),
                          PackedRight(s.grad_v, Kv, /*transposed=*/true, Kv, T, s.v_transposed_panels)};
  for (std::int64_t i = 0; i < in.group(); ++i) {
    backward_queries(call, {task * in.group() + i, in.H}, packed, i == 0 ? GroupSum::begin : GroupSum::add, s);
  }
  turn_back(in, in.k, in.k_gain, head, s.grad_k, call.grad_k, call.k_gain_parts);
  head_to_halves(T, in.Pv, s.grad_v, head_of(call.grad_v, in, head, in.Pv));
}

// Heads of keys and values do not depend on each other: each thread takes the next, with its queries.
template <typename Memory, typename Call>
void for_each_group(const Call& call, void (*run_group)(const Call&, std::int64_t, const Memory&)) {
  const std::int64_t floats = Memory(call.in, nullptr).floats;
  const Scratch scratch(thread_count() * floats);
  parallel_items(call.in.B * call.in.G, [&](std::int64_t task, std::int64_t worker) {
    run_group(call, task, Memory(call.in, scratch.data() + worker * floats));
  });
}

}  // namespace

void rotary_attention(const RotaryAttention& call) {
  for_each_group(call, forward_group);
}

void rotary_attention_backward(const RotaryAttentionBackward& call) {
  for_each_group(call, backward_group);
}

}  // namespace crope::ops::cpu
