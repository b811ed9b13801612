// Speculation changes the speed and nothing else.
#include <gtest/gtest.h>

#include <cmath>
#include <map>

#include "crope/base/error.h"
#include "crope/infer/engine.h"
#include "crope/infer/generation.h"
#include "crope/model/quantise.h"
#include "tests/infer/small_model.h"

namespace crope::infer {
namespace {

using test::draw_ids;
using test::small_model;
using Ids = std::vector<std::int32_t>;

struct Outcome {
  std::vector<Generation> results;
  Engine::Statistics statistics;
};

Outcome run_requests(const model::Transformer& model, const std::vector<GenerationRequest>& requests,
                     std::int64_t speculate, std::int64_t batch_size = 1) {
  // Pieces of prompts that are small enough to have the same bits in any company.
  Engine engine(model, {.prefill_tokens = 16, .speculate = speculate});
  Outcome result{.results = std::vector<Generation>(requests.size())};
  generate(engine, nullptr, requests, {.batch_size = batch_size},
           {.on_done = [&](std::size_t index, const Generation& done) { result.results[index] = done; }});
  result.statistics = engine.statistics();
  return result;
}

// A prompt that repeats itself, so that there is something to guess.
Ids repeating_prompt(std::uint64_t seed) {
  Ids prompt = draw_ids(seed, 7);
  for (int i = 0; i < 14; ++i) prompt.push_back(prompt[static_cast<std::size_t>(i)]);
  return prompt;
}

std::vector<GenerationRequest> requests_of(const SamplingOptions& sampling, std::size_t count) {
  std::vector<GenerationRequest> requests;
  for (std::size_t i = 0; i < count; ++i) {
    requests.push_back({.prompt = repeating_prompt(i), .max_tokens = 60 + static_cast<std::int64_t>(i)});
    requests.back().sampling = sampling;
    requests.back().sampling.seed += i;
  }
  return requests;
}

void expect_same(const Outcome& with, const Outcome& without, const std::string& what) {
  for (std::size_t i = 0; i < without.results.size(); ++i) {
    EXPECT_EQ(with.results[i].ids, without.results[i].ids) << what << ", sequence " << i;
    EXPECT_EQ(with.results[i].finish, without.results[i].finish) << what << ", sequence " << i;
  }
  EXPECT_EQ(with.statistics.new_tokens, without.statistics.new_tokens) << what;
}

class SpeculationOfVariant : public testing::TestWithParam<model::VariantTraits> {};

TEST_P(SpeculationOfVariant, GreedyTextIsTheSame) {
  const model::Transformer model = small_model(GetParam().variant, 120);
  const auto requests = requests_of({}, 5);
  for (const auto type : {ops::WeightType::fp32, ops::WeightType::int8, ops::WeightType::int4}) {
    const model::Transformer typed = ops::is_quantised(type) ? model::quantise(model, type) : model;
    const Outcome without = run_requests(typed, requests, 0);
    EXPECT_EQ(without.statistics.guessed_tokens, 0);
    for (const std::int64_t speculate : {1, 4, 23}) {
      for (const std::int64_t batch : {1, 3}) {
        const Outcome with = run_requests(typed, requests, speculate, batch);
        expect_same(with, without, std::string(GetParam().name) + " speculate " + std::to_string(speculate));
        EXPECT_GT(with.statistics.guessed_tokens, 0);
        EXPECT_GT(with.statistics.right_tokens, 0) << "greedy text of small models repeats itself";
        EXPECT_LE(with.statistics.right_tokens, with.statistics.guessed_tokens);
      }
    }
  }
}

INSTANTIATE_TEST_SUITE_P(AllVariants, SpeculationOfVariant, testing::ValuesIn(model::kVariants),
                         [](const auto& info) { return std::string(info.param.name); });

// The sampler draws one number for each token, guessed or not: the same seed gives the same text.
TEST(Speculation, SampledTextIsTheSame) {
  const model::Transformer model = small_model(model::Variant::crope_all, 120);
  for (const SamplingOptions& sampling :
       {SamplingOptions{.temperature = 0.3, .seed = 7}, SamplingOptions{.temperature = 0.8, .top_k = 5, .seed = 8},
        SamplingOptions{.temperature = 0.5, .top_p = 0.9, .repetition_penalty = 1.1, .seed = 9}}) {
    const auto requests = requests_of(sampling, 6);
    expect_same(run_requests(model, requests, 6, 2), run_requests(model, requests, 0), "sampled");
  }
}

// Independent of the seeds' equality: how often each token comes is what the logits say, where guesses are right now
// and then. Chi-squared over the tokens at one place behind a prompt that invites guesses.
TEST(Speculation, SampledTokensHaveTheDistributionOfTheModel) {
  const model::Transformer model = small_model(model::Variant::rope, 120);
  const SamplingOptions sampling{.temperature = 0.35};
  // Behind greedy text, which runs into a loop, guesses are made and often right.
  Ids prompt = repeating_prompt(3);
  const Ids greedy = run_requests(model, {{.prompt = prompt, .max_tokens = 60}}, 0).results[0].ids;
  prompt.insert(prompt.end(), greedy.begin(), greedy.end());
  constexpr int kDraws = 1500;
  std::vector<GenerationRequest> requests;
  for (int i = 0; i < kDraws; ++i) {
    requests.push_back({.prompt = prompt, .max_tokens = 3, .sampling = sampling});
    requests.back().sampling.seed = 1000 + static_cast<std::uint64_t>(i);
  }
  const Outcome result = run_requests(model, requests, 4);
  // Of the second new token, given the first: the first comes from the prompt's step, the second from a guess's.
  std::map<std::int32_t, std::map<std::int32_t, int>> counts;
  for (const Generation& each : result.results) ++counts[each.ids[0]][each.ids[1]];
  EXPECT_GT(result.statistics.guessed_tokens, kDraws / 20);
  EXPECT_GT(result.statistics.right_tokens, 0);
  EXPECT_LT(result.statistics.right_tokens, result.statistics.guessed_tokens);
  for (const auto& [first, seconds] : counts) {
    int total = 0;
    for (const auto& [second, count] : seconds) total += count;
    if (total < 200) continue;
    Ids ids = prompt;
    ids.push_back(first);
    const at::Tensor p = at::softmax(test::uncached_logits(model, ids)[-1] / sampling.temperature, 0);
    double statistic = 0, rest_expected = 0;
    int cells = 0, rest = 0;
    for (std::int32_t token = 0; token < test::kSmallVocabulary; ++token) {
      const double expected = p[token].item<double>() * total;
      const int seen = seconds.contains(token) ? seconds.at(token) : 0;
      if (expected < 5) {
        rest_expected += expected;
        rest += seen;
        continue;
      }
      statistic += (seen - expected) * (seen - expected) / expected;
      ++cells;
    }
    if (rest_expected >= 5) {
      statistic += (rest - rest_expected) * (rest - rest_expected) / rest_expected;
      ++cells;
    }
    // Mean cells - 1, deviation sqrt(2 (cells - 1)): four of them, and seeds are fixed.
    EXPECT_LT(statistic, cells - 1 + 4 * std::sqrt(2.0 * std::max(1, cells - 1))) << "after token " << first;
  }
}

TEST(Speculation, EndsWhereTheTextEnds) {
  const model::Transformer model = small_model(model::Variant::crope_qk, 40);
  GenerationRequest request{.prompt = repeating_prompt(1), .max_tokens = 1000};
  const Outcome whole = run_requests(model, {request}, 0), guessed = run_requests(model, {request}, 8);
  EXPECT_EQ(whole.results[0].finish, FinishReason::window);
  expect_same(guessed, whole, "to the end of the window");
  for (std::size_t end = 1; end < whole.results[0].ids.size(); end += 3) {
    request.end_tokens = {whole.results[0].ids[end]};
    expect_same(run_requests(model, {request}, 8), run_requests(model, {request}, 0), "an end token");
    request.end_tokens.clear();
    GenerationRequest shorter = request;
    shorter.max_tokens = static_cast<std::int64_t>(end);
    expect_same(run_requests(model, {shorter}, 8), run_requests(model, {shorter}, 0), "max_tokens");
  }
}

// What is kept of a sequence is what was read and right: another that begins alike shares it.
TEST(Speculation, RejectedGuessesLeaveNothingBehind) {
  const model::Transformer model = small_model(model::Variant::half_rope_all, 120);
  Engine engine(model, {.speculate = 8}), plain(model, {});
  GenerationRequest request{.prompt = repeating_prompt(2), .max_tokens = 40};
  const auto ids_of = [](Engine& with, const GenerationRequest& asked) {
    Ids ids;
    generate(with, nullptr, {&asked, 1}, {}, {.on_done = [&](std::size_t, const Generation& done) { ids = done.ids; }});
    return ids;
  };
  const Ids first = ids_of(engine, request);
  request.prompt.insert(request.prompt.end(), first.begin(), first.begin() + 30);
  EXPECT_EQ(ids_of(engine, request), ids_of(plain, request));
  EXPECT_GT(engine.statistics().shared_tokens, 40);
}

TEST(Speculation, MoreThanAStepHoldsIsRefused) {
  const model::Transformer model = small_model(model::Variant::rope);
  EXPECT_THROW(Engine(model, {.speculate = kMostSpeculation + 1}), UsageError);
  EXPECT_THROW(Engine(model, {.speculate = -1}), UsageError);
}

}  // namespace
}  // namespace crope::infer
