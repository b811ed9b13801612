#include "crope/analysis/constructed_head.h"

#include <cmath>

#include "crope/ops/reference.h"
#include "tests/tensor_checks.h"

namespace crope::analysis {
namespace {

using torch::Tensor;

constexpr int64_t kT = 7, kD = 16;

ConstructedHead random_head(HeadKind kind) {
  const auto projection = [&]() -> ops::Weight {
    if (kind == HeadKind::crope) {
      return ops::ComplexWeight{test::random_tensor({kD / 2, kD / 2}), test::random_tensor({kD / 2, kD / 2})};
    }
    return ops::DenseWeight{test::random_tensor({kD, kD})};
  };
  ConstructedHead head{
      .kind = kind, .rope_theta = 100, .tokens = test::random_tensor({kT, kD}), .q = projection(), .k = projection()};
  if (kind == HeadKind::absolute) head.positions = test::random_tensor({kT, kD});
  if (kind == HeadKind::relative) head.positions = test::random_tensor({2 * kT - 1, kD});
  return head;
}

// The equations of the paper, one pair of positions at a time.
Tensor equation(const ConstructedHead& head, int64_t m, int64_t n) {
  const Tensor wq = ops::dense_matrix(head.q), wk = ops::dense_matrix(head.k);
  Tensor xm = head.tokens[m], xn = head.tokens[n];
  if (head.kind == HeadKind::absolute) {
    xm = xm + head.positions[m];
    xn = xn + head.positions[n];
  } else if (head.kind == HeadKind::relative) {
    xm = xm + head.positions[n - m + kT - 1];
    xn = xn + head.positions[n - m + kT - 1];
  }
  Tensor q = wq.mv(xm), k = wk.mv(xn);
  if (head.kind == HeadKind::rope || head.kind == HeadKind::crope) {
    // R_{m-n}^T on the query's side: only the difference of positions is used.
    q = ops::reference::rope(q.unsqueeze(0), at::tensor({m - n}), head.rope_theta)[0];
  }
  return q.dot(k) / std::sqrt(double(kD));
}

TEST(ConstructedHead, ScoresAreThoseOfTheEquations) {
  for (const HeadKind kind : kHeadKinds) {
    const ConstructedHead head = random_head(kind);
    const Tensor scores = head_scores(head);
    Tensor expected = at::empty_like(scores);
    for (int64_t m = 0; m < kT; ++m) {
      for (int64_t n = 0; n < kT; ++n) expected[m][n] = equation(head, m, n);
    }
    EXPECT_LT(test::relative_error(scores, expected), 1e-12) << head_kind_name(kind);
  }
}

TEST(ConstructedHead, WeightsAreTheirSoftmaxUnderTheMask) {
  for (const HeadKind kind : kHeadKinds) {
    const ConstructedHead head = random_head(kind);
    const Tensor scores = head_scores(head);
    EXPECT_LT(test::relative_error(head_weights(head, ops::Mask::none), scores.softmax(1)), 1e-12);
    const Tensor causal = head_weights(head, ops::Mask::causal);
    EXPECT_EQ(causal.triu(1).abs().max().item<double>(), 0);
    for (int64_t m = 0; m < kT; ++m) {
      EXPECT_LT(test::relative_error(causal[m].narrow(0, 0, m + 1), scores[m].narrow(0, 0, m + 1).softmax(0)), 1e-12);
    }
  }
}

}  // namespace
}  // namespace crope::analysis
