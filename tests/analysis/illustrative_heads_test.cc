#include "crope/analysis/illustrative_heads.h"

#include "crope/analysis/function_space.h"
#include "crope/analysis/head_study.h"
#include "crope/base/error.h"
#include "tests/tensor_checks.h"

namespace crope::analysis {
namespace {

using torch::Tensor;

HeadMeasures measures(HeadKind kind, HeadTask task, const HeadOptions& options) {
  return measure_head(make_illustrative_head(kind, task, options), options.mask);
}

TEST(IllustrativeHeads, RopeAndCropeFindTheTargetInEveryRowAndAbsoluteDoesNot) {
  for (const ops::Mask mask : {ops::Mask::none, ops::Mask::causal}) {
    const HeadOptions options{.D = 1024, .T = 64, .mask = mask};
    for (const HeadKind kind : {HeadKind::relative, HeadKind::rope, HeadKind::crope}) {
      const HeadMeasures found = measures(kind, HeadTask::token_dependent, options);
      EXPECT_GE(found.rows, 61) << head_kind_name(kind);
      EXPECT_EQ(found.rows_right, found.rows) << head_kind_name(kind);
    }
    const HeadMeasures absolute = measures(HeadKind::absolute, HeadTask::token_dependent, options);
    EXPECT_LT(absolute.rows_right, absolute.rows / 2);
  }
}

TEST(IllustrativeHeads, WeightOnTheTargetGrowsWithTheWidth) {
  for (const HeadKind kind : {HeadKind::rope, HeadKind::crope}) {
    for (const HeadTask task : kHeadTasks) {
      double before = 0;
      for (const int64_t D : {256, 1024, 4096}) {
        const double now = measures(kind, task, {.D = D}).target_weight;
        // Equal tokens have all of the weight, to the last digit, long before 4,096.
        EXPECT_TRUE(now > before || now > 1 - 1e-6)
            << head_kind_name(kind) << " " << head_task_name(task) << " at " << D << ": " << now << " after " << before;
        before = now;
      }
    }
  }
}

TEST(IllustrativeHeads, RopeAndCropeAreTheSameHead) {
  for (const HeadTask task : {HeadTask::same_token, HeadTask::same_position, HeadTask::token_dependent}) {
    const auto rope = make_illustrative_head(HeadKind::rope, task, {.D = 64, .T = 20});
    const auto crope = make_illustrative_head(HeadKind::crope, task, {.D = 64, .T = 20});
    EXPECT_LT(test::relative_error(head_scores(crope.head), head_scores(rope.head)), 1e-5);
    EXPECT_LT(pauli_energies(ops::dense_matrix(rope.head.q)).conjugate_linear_share(), 1e-12);
  }
}

TEST(IllustrativeHeads, TheDenseQueryCommutesWithAPhase) {
  const auto rope = make_illustrative_head(HeadKind::rope, HeadTask::token_dependent, {.D = 32, .T = 5});
  const Tensor x = test::random_tensor({3, 32}).to(at::kFloat);
  const auto turn = [](const Tensor& halves) {  // by i
    return at::cat({-halves.narrow(1, 16, 16), halves.narrow(1, 0, 16)}, 1);
  };
  EXPECT_LT(test::relative_error(ops::project(turn(x), rope.head.q), turn(ops::project(x, rope.head.q))), 1e-5);
}

TEST(IllustrativeHeads, ThePhasesAsPrintedLookBack) {
  HeadOptions options{.D = 1024, .T = 64};
  options.query_phase = QueryPhase::as_printed;
  const auto made = make_illustrative_head(HeadKind::crope, HeadTask::token_dependent, options);
  const Tensor largest = head_weights(made.head, ops::Mask::none).argmax(1);
  for (int64_t m = 2; m < 64; ++m) {
    EXPECT_EQ(largest[m].item<int64_t>(), m - 1 - made.token_ids[std::size_t(m)]) << m;
  }
}

TEST(IllustrativeHeads, TokensArePickedOutWithEveryKind) {
  for (const HeadKind kind : kHeadKinds) {
    const HeadMeasures found = measures(kind, HeadTask::same_token, {.D = 1024, .T = 64});
    EXPECT_EQ(found.rows_right, 64) << head_kind_name(kind);
    EXPECT_GT(found.target_weight, 0.9) << head_kind_name(kind);
  }
}

TEST(IllustrativeHeads, PositionsArePickedOutWithEveryKind) {
  for (const HeadKind kind : kHeadKinds) {
    for (const HeadTask task : {HeadTask::same_position, HeadTask::same_position_free}) {
      const HeadMeasures found = measures(kind, task, {.D = 1024, .T = 64});
      EXPECT_EQ(found.rows_right, 64) << head_kind_name(kind) << " " << head_task_name(task);
    }
  }
}

TEST(IllustrativeHeads, WithoutABiasTheConstantNeedsMoreDimensionsThanTokens) {
  const double narrow = measures(HeadKind::crope, HeadTask::same_position_free, {.D = 32}).target_score;
  const double wide = measures(HeadKind::crope, HeadTask::same_position_free, {.D = 256}).target_score;
  EXPECT_LT(narrow, 0.9);
  EXPECT_NEAR(wide, 1, 1e-4);
}

TEST(IllustrativeHeads, RowsWithoutATargetHaveNone) {
  const auto made = make_illustrative_head(HeadKind::rope, HeadTask::token_dependent, {.D = 16, .T = 8});
  EXPECT_TRUE(made.targets.back().empty());
  for (std::size_t m = 0; m < 6; ++m) {
    ASSERT_EQ(made.targets[m].size(), 1u);
    EXPECT_EQ(made.targets[m][0], int64_t(m) + 1 + made.token_ids[m]);
  }
}

TEST(IllustrativeHeads, ImpossibleSizesAreRefused) {
  EXPECT_THROW(make_illustrative_head(HeadKind::rope, HeadTask::same_token, {.D = 24}), UsageError);
  EXPECT_THROW(make_illustrative_head(HeadKind::rope, HeadTask::same_token, {.D = 0}), UsageError);
  EXPECT_THROW(make_illustrative_head(HeadKind::rope, HeadTask::same_token, {.T = 0}), UsageError);
}

}  // namespace
}  // namespace crope::analysis
