#include "crope/infer/sampler.h"

#include <gtest/gtest.h>

#include <cmath>
#include <map>

#include "crope/base/error.h"

namespace crope::infer {
namespace {

using Logits = std::vector<float>;

std::int32_t sample(TokenSampler& sampler, Logits logits) {
  return sampler.sample(logits);
}

// How often each token comes in `count` draws.
std::map<std::int32_t, int> frequencies(const SamplingOptions& options, const Logits& logits, int count) {
  TokenSampler sampler(options, {});
  std::map<std::int32_t, int> result;
  for (int i = 0; i < count; ++i) ++result[sample(sampler, logits)];
  return result;
}

TEST(TokenSampler, GreedyTakesTheFirstLargest) {
  TokenSampler sampler({}, {});
  EXPECT_EQ(sample(sampler, {1, 5, 2, 5}), 1);
  EXPECT_EQ(sample(sampler, {-INFINITY, NAN, -3, -4}), 2);
  EXPECT_EQ(sample(sampler, {NAN, NAN}), 0);
  EXPECT_EQ(sample(sampler, {7}), 0);
}

TEST(TokenSampler, FrequenciesAreTheProbabilities) {
  const Logits logits = {0, 1, 2, -1, 0.5};
  constexpr int kDraws = 40000;
  for (const double temperature : {0.5, 1.0, 2.0}) {
    double total = 0;
    for (const float logit : logits) total += std::exp(logit / temperature);
    const auto counts = frequencies({.temperature = temperature, .seed = 3}, logits, kDraws);
    for (std::size_t i = 0; i < logits.size(); ++i) {
      const double p = std::exp(logits[i] / temperature) / total;
      const auto place = counts.find(static_cast<std::int32_t>(i));
      const double share = place == counts.end() ? 0 : place->second / static_cast<double>(kDraws);
      EXPECT_NEAR(share, p, 4 * std::sqrt(p * (1 - p) / kDraws)) << "token " << i << " at " << temperature;
    }
  }
}

TEST(TokenSampler, ATemperatureNextToZeroIsGreedy) {
  const Logits logits = {3, -2, 11, 10.5f, 11, -100};
  for (const double temperature : {1e-5, 1e-20, 1e-29, 1e-31, 1e-37, 3e-39, 1e-40, 1e-300, 5e-324}) {
    const std::map<std::int32_t, int> counts =
        frequencies({.temperature = temperature, .top_p = 0.99, .seed = 3}, logits, 50);
    for (const auto& [id, count] : counts) EXPECT_EQ(logits[static_cast<std::size_t>(id)], 11) << temperature;
  }
  TokenSampler sampler({.temperature = 1e-40}, {});
  EXPECT_EQ(sample(sampler, logits), 2);
}

TEST(TokenSampler, FiltersKeepWhatTheySay) {
  // Probabilities 0.5, 0.25, 0.125, 0.0625, 0.0625 in a shuffled order.
  const Logits logits = {std::log(0.125f), std::log(0.5f), std::log(0.0625f), std::log(0.25f), std::log(0.0625f)};
  const auto kept = [&](SamplingOptions options) {
    options.temperature = 1;
    std::vector<std::int32_t> ids;
    for (const auto& [id, unused] : frequencies(options, logits, 2000)) ids.push_back(id);
    return ids;
  };
  using Ids = std::vector<std::int32_t>;
  EXPECT_EQ(kept({}), (Ids{0, 1, 2, 3, 4}));
  EXPECT_EQ(kept({.top_k = 2}), (Ids{1, 3}));
  EXPECT_EQ(kept({.top_k = 4}), (Ids{0, 1, 2, 3})) << "of equals the lower id stays";
  EXPECT_EQ(kept({.top_k = 99}), (Ids{0, 1, 2, 3, 4}));
  EXPECT_EQ(kept({.top_p = 0.4}), (Ids{1}));
  EXPECT_EQ(kept({.top_p = 0.7}), (Ids{1, 3}));
  EXPECT_EQ(kept({.top_p = 0.8}), (Ids{0, 1, 3}));
  EXPECT_EQ(kept({.top_p = 1e-9}), (Ids{1})) << "never nothing";
  EXPECT_EQ(kept({.min_p = 0.3}), (Ids{1, 3}));
  EXPECT_EQ(kept({.min_p = 1}), (Ids{1}));
  EXPECT_EQ(kept({.top_k = 3, .top_p = 0.6}), (Ids{1, 3})) << "top-p counts what top-k left: 4/7 is too little";
}

TEST(TokenSampler, TheNucleusOfALargeVocabulary) {
  // 3,000 tokens of equal weight behind one of a half: the nucleus of 0.75 has half of them.
  Logits logits(3001, 0.0f);
  logits[1234] = std::log(3000.0f);
  const auto counts = frequencies({.temperature = 1, .top_p = 0.75, .seed = 1}, logits, 2000);
  EXPECT_NEAR(counts.at(1234) / 2000.0, 0.5 / 0.75, 0.04);
  std::int32_t highest = 0;
  for (const auto& [id, unused] : counts) highest = std::max(highest, id);
  EXPECT_LE(highest, 1501);
  EXPECT_GE(highest, 1450);
}

TEST(TokenSampler, SeedsDecide) {
  const Logits logits(100, 0.0f);
  const auto draw = [&](std::uint64_t seed) {
    TokenSampler sampler({.temperature = 1, .seed = seed}, {});
    std::vector<std::int32_t> ids;
    for (int i = 0; i < 20; ++i) ids.push_back(sample(sampler, logits));
    return ids;
  };
  EXPECT_EQ(draw(7), draw(7));
  EXPECT_NE(draw(7), draw(8));
}

TEST(TokenSampler, RepetitionPenaltyOfPromptAndOwnTokens) {
  TokenSampler sampler({.repetition_penalty = 2}, std::vector<std::int32_t>{1});
  EXPECT_EQ(sample(sampler, {3, 5, 1}), 0) << "5 / 2 is less than 3";
  EXPECT_EQ(sample(sampler, {3, 5, 2.75f}), 2) << "now 0 is penalised too";
  EXPECT_EQ(sample(sampler, {-1, -1.5f, -1.2f, -1.9f}), 3) << "negative logits are multiplied";
}

TEST(TokenSampler, OptionsThatMakeNoSense) {
  for (const SamplingOptions& options :
       {SamplingOptions{.temperature = -1}, SamplingOptions{.temperature = NAN}, SamplingOptions{.top_k = -1},
        SamplingOptions{.top_p = 0}, SamplingOptions{.top_p = 1.1}, SamplingOptions{.top_p = NAN},
        SamplingOptions{.min_p = -0.1}, SamplingOptions{.min_p = 2}, SamplingOptions{.repetition_penalty = 0},
        SamplingOptions{.repetition_penalty = INFINITY}}) {
    EXPECT_THROW(validate(options), UsageError);
  }
}

}  // namespace
}  // namespace crope::infer
