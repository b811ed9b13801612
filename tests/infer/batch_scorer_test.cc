#include "crope/infer/batch_scorer.h"

#include "tests/infer/small_model.h"

namespace crope::infer {
namespace {

// scorer_test.cc holds both engines against whole rows; here: equal numbers however rows are packed.
TEST(BatchScorer, PaddingChangesNothing) {
  const model::Transformer model = test::small_model(model::Variant::crope_all);
  std::vector<ScoreRequest> requests;
  for (const std::size_t length : {1u, 3u, 9u, 17u, 40u}) {
    requests.push_back({test::draw_ids(length, length), test::draw_ids(100 + length, 1 + length % 5)});
  }
  std::vector<Score> alone(requests.size()), together(requests.size());
  score_in_batches(model, requests, {.batch_tokens = 1}, [&](std::size_t i, const Score& s) { alone[i] = s; });
  score_in_batches(model, requests, {.batch_tokens = 1000}, [&](std::size_t i, const Score& s) { together[i] = s; });
  for (std::size_t i = 0; i < requests.size(); ++i) {
    EXPECT_LT(alone[i].log_likelihood, -0.1) << i;
    EXPECT_NEAR(together[i].log_likelihood, alone[i].log_likelihood, 1e-5) << i;
    EXPECT_EQ(together[i].is_greedy, alone[i].is_greedy) << i;
  }
}

TEST(BatchScorer, NothingToDoIsNothing) {
  int calls = 0;
  score_in_batches(test::small_model(model::Variant::rope), {}, {}, [&](std::size_t, const Score&) { ++calls; });
  EXPECT_EQ(calls, 0);
}

}  // namespace
}  // namespace crope::infer
