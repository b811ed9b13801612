#include "crope/analysis/constructed_head.h"

#include <ATen/ATen.h>

#include <cmath>
#include <limits>

#include "crope/ops/check.h"
#include "crope/ops/rope.h"

namespace crope::analysis {
namespace {

using torch::Tensor;

struct QueriesAndKeys {
  Tensor q, k;  // [T, D]
};

QueriesAndKeys queries_and_keys(const ConstructedHead& head) {
  const bool adds_positions = head.kind == HeadKind::absolute;
  const Tensor x = adds_positions ? head.tokens + head.positions : head.tokens;
  const Tensor q = ops::project(x, head.q), k = ops::project(x, head.k);
  if (adds_positions) return {q, k};
  const int64_t T = x.size(0), D = x.size(1);
  const ops::RopeTable table = ops::rope_table(at::arange(T), D, head.rope_theta, x.options());
  return {ops::rope(q, table), ops::rope(k, table)};
}

// out[m, n] = x[m, n - m + T - 1]: a table over distances, read for every pair.
Tensor by_distance(const Tensor& x, int64_t T) {
  const Tensor n = at::arange(T), distance = n.unsqueeze(0) - n.unsqueeze(1) + (T - 1);
  return x.expand({T, 2 * T - 1}).gather(1, distance);
}

// (x_m + p_d)' Wq' Wk (x_n + p_d) with d = n - m, as its four terms: no [T, T, D] tensor is made.
Tensor relative_scores(const ConstructedHead& head) {
  const int64_t T = head.tokens.size(0);
  const Tensor xq = ops::project(head.tokens, head.q), xk = ops::project(head.tokens, head.k);
  const Tensor pq = ops::project(head.positions, head.q), pk = ops::project(head.positions, head.k);
  const Tensor token_position = by_distance(xq.mm(pk.t()), T);
  // The key's token is the column: the table is read with rows and columns exchanged, at the distance m - n turned
  // round.
  const Tensor position_token = by_distance(xk.mm(pq.t()).flip(1), T).t();
  const Tensor position_position = by_distance((pq * pk).sum(1).unsqueeze(0), T);
  return xq.mm(xk.t()) + token_position + position_token + position_position;
}

double scale_of(const ConstructedHead& head) {
  return 1 / std::sqrt(static_cast<double>(head.tokens.size(1)));
}

Tensor weights_of(const ConstructedHead& head, const QueriesAndKeys& made, ops::Mask mask) {
  const Tensor values = at::eye(made.q.size(0), made.q.options());
  const auto one_head = [](const Tensor& x) { return x.unsqueeze(0).unsqueeze(0); };
  return ops::attention(one_head(made.q), one_head(made.k), one_head(values),
                        {.scale = scale_of(head), .mask = mask})[0][0];
}

Tensor masked_softmax(const Tensor& scores, ops::Mask mask) {
  if (mask == ops::Mask::none) return scores.softmax(1);
  const Tensor future = at::ones_like(scores).triu(1).to(at::kBool);
  return scores.masked_fill(future, -std::numeric_limits<double>::infinity()).softmax(1);
}

}  // namespace

ScoresAndWeights head_output(const ConstructedHead& head, ops::Mask mask) {
  ops::check_shape(head.tokens.dim() == 2, "head_output", "tokens", "[T, D]", head.tokens);
  if (head.kind == HeadKind::relative) {
    const Tensor scores = relative_scores(head) * scale_of(head);
    return {scores, masked_softmax(scores, mask)};
  }
  const QueriesAndKeys made = queries_and_keys(head);
  return {made.q.mm(made.k.t()) * scale_of(head), weights_of(head, made, mask)};
}

Tensor head_scores(const ConstructedHead& head) {
  return head_output(head, ops::Mask::none).scores;
}

Tensor head_weights(const ConstructedHead& head, ops::Mask mask) {
  return head_output(head, mask).weights;
}

}  // namespace crope::analysis
