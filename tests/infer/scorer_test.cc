#include "crope/infer/scorer.h"

#include <ATen/Parallel.h>

#include <map>

#include "crope/base/error.h"
#include "crope/model/quantise.h"
#include "tests/infer/small_model.h"

namespace crope::infer {
namespace {

using test::small_model;

std::vector<std::int32_t> draw_ids(RandomStream& random, std::size_t count) {
  return test::draw_ids(random.bits(), count);
}

// Four continuations, of up to `longest` tokens, of each context.
std::vector<ScoreRequest> draw_questions(RandomStream& random, int count, std::uint64_t longest) {
  std::vector<ScoreRequest> requests;
  for (int question = 0; question < count; ++question) {
    const auto context = draw_ids(random, 9 + random.below(6));
    for (int i = 0; i < 4; ++i) requests.push_back({context, draw_ids(random, 1 + random.below(longest))});
  }
  return requests;
}

// As lm_eval does it: the whole row, log_softmax, the last places.
Score expected_score(const model::Transformer& model, const ScoreRequest& request) {
  std::vector<std::int64_t> ids(request.context.begin(), request.context.end());
  ids.insert(ids.end(), request.continuation.begin(), request.continuation.end());
  const auto keep = std::min<std::size_t>(ids.size(), static_cast<std::size_t>(model.config.max_seq_len) + 1);
  ids.erase(ids.begin(), ids.end() - static_cast<std::ptrdiff_t>(keep));
  const auto n = static_cast<std::int64_t>(request.continuation.size()), T = static_cast<std::int64_t>(ids.size()) - 1;
  const at::Tensor row = at::tensor(ids, at::kLong);
  const at::Tensor logits = model::logits(model, row.narrow(0, 0, T).unsqueeze(0))[0].narrow(0, T - n, n);
  const at::Tensor targets = row.narrow(0, T + 1 - n, n);
  const at::Tensor chosen = at::log_softmax(logits.to(at::kDouble), -1).gather(1, targets.unsqueeze(1));
  return {chosen.sum().item<double>(), logits.argmax(-1).equal(targets)};
}

void check_scores(const model::Transformer& model, const std::vector<ScoreRequest>& requests,
                  const ScorerOptions& options) {
  std::map<std::size_t, Score> scores;
  score_requests(model, requests, options, [&](std::size_t index, const Score& score) {
    EXPECT_TRUE(scores.emplace(index, score).second) << "request " << index << " twice";
  });
  ASSERT_EQ(scores.size(), requests.size());
  for (std::size_t i = 0; i < requests.size(); ++i) {
    const Score expected = expected_score(model, requests[i]);
    EXPECT_NEAR(scores[i].log_likelihood, expected.log_likelihood, 1e-4) << "request " << i;
    EXPECT_EQ(scores[i].is_greedy, expected.is_greedy) << "request " << i;
  }
}

class ScorerOfVariant : public testing::TestWithParam<model::VariantTraits> {};

TEST_P(ScorerOfVariant, SharedContextsGiveTheScoresOfWholeRows) {
  const model::Transformer model = small_model(GetParam().variant);
  RandomStream random(3, "requests");
  std::vector<ScoreRequest> requests = draw_questions(random, 5, 7);
  requests.push_back(requests[2]);                                           // the same again
  requests.push_back({draw_ids(random, 40), draw_ids(random, 6)});           // over the window
  requests.push_back({draw_ids(random, 1), draw_ids(random, 24)});           // a continuation that fills it
  requests.push_back({requests[0].context, {requests[0].continuation[0]}});  // the beginning of another
  for (const ScoreEngine engine : {ScoreEngine::cached, ScoreEngine::torch}) {
    for (const std::int64_t batch_tokens : {4096, 32, 5, 1}) {
      check_scores(model, requests, {.batch_tokens = batch_tokens, .engine = engine});
    }
  }
}

// Enough for several groups of sequences, which threads work on side by side.
TEST_P(ScorerOfVariant, AnyNumberOfThreadsGivesTheScoresOfWholeRows) {
  const model::Transformer model = small_model(GetParam().variant);
  RandomStream random(4, "requests");
  const std::vector<ScoreRequest> requests = draw_questions(random, 60, 9);
  const int before = at::get_num_threads();
  for (const int threads : {1, 2, 3}) {
    at::set_num_threads(threads);
    check_scores(model, requests, {});
    check_scores(model, requests, {.batch_tokens = 600});
  }
  at::set_num_threads(before);
}

INSTANTIATE_TEST_SUITE_P(AllVariants, ScorerOfVariant, testing::ValuesIn(model::kVariants),
                         [](const auto& info) { return std::string(info.param.name); });

TEST(Scorer, AGreedyContinuationIsGreedy) {
  const model::Transformer model = small_model(model::Variant::crope_all);
  std::vector<std::int32_t> context = {5, 6, 7};
  std::vector<std::int64_t> ids = {5, 6, 7};
  for (int i = 0; i < 6; ++i) {
    ids.push_back(model::logits(model, at::tensor(ids, at::kLong).unsqueeze(0))[0][-1].argmax().item<std::int64_t>());
  }
  ScoreRequest request{context, {ids.begin() + 3, ids.end()}};
  std::vector<ScoreRequest> requests = {request, request};
  requests[1].continuation.back() = (requests[1].continuation.back() + 1) % 61;
  std::vector<bool> greedy(2);
  score_requests(model, requests, {}, [&](std::size_t i, const Score& score) { greedy[i] = score.is_greedy; });
  EXPECT_TRUE(greedy[0]);
  EXPECT_FALSE(greedy[1]);
}

TEST(Scorer, BadRequestsAreNamed) {
  const model::Transformer model = small_model(model::Variant::rope);
  const auto message = [&](const ScoreRequest& request) -> std::string {
    const std::vector<ScoreRequest> requests = {{{1}, {2}}, request};
    try {
      score_requests(model, requests, {}, [](std::size_t, const Score&) {});
    } catch (const UsageError& e) {
      return e.what();
    }
    return "no error";
  };
  EXPECT_EQ(message({{}, {1}}), "score request 1: the context is empty");
  EXPECT_EQ(message({{1}, {}}), "score request 1: the continuation is empty");
  EXPECT_EQ(message({{61}, {1}}), "score request 1: token id 61 is outside the vocabulary of 61");
  EXPECT_EQ(message({{1}, {-1}}), "score request 1: token id -1 is outside the vocabulary of 61");
  EXPECT_EQ(message({{1}, std::vector<std::int32_t>(25, 1)}),
            "score request 1: a continuation of 25 tokens, the window has 24 (max_seq_len)");
  EXPECT_THROW(score_requests(model, {}, {.batch_tokens = 0}, [](std::size_t, const Score&) {}), UsageError);
}

TEST(Scorer, TheTorchEngineDoesNotRoundWeights) {
  const model::Transformer model = model::quantise(small_model(model::Variant::rope), ops::WeightType::int8);
  const std::vector<ScoreRequest> requests = {{{1}, {2}}};
  const auto score = [&](ScoreEngine engine) {
    score_requests(model, requests, {.engine = engine}, [](std::size_t, const Score&) {});
  };
  EXPECT_THROW(score(ScoreEngine::torch), UsageError);
  EXPECT_NO_THROW(score(ScoreEngine::cached));
  EXPECT_NO_THROW(score(ScoreEngine::automatic));
}

TEST(Scorer, NothingToDoIsNothing) {
  int calls = 0;
  score_requests(small_model(model::Variant::rope), {}, {}, [&](std::size_t, const Score&) { ++calls; });
  EXPECT_EQ(calls, 0);
}

}  // namespace
}  // namespace crope::infer
