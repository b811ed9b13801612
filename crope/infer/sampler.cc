#include "crope/infer/sampler.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "crope/base/error.h"

namespace crope::infer {
namespace {

void require(bool holds, const char* name, const char* expected, double got) {
  if (!holds) throw UsageError(fmt::format("{}: expected {}, got {}", name, expected, got));
}

// Below it, logits over temperature leave the range of fp32; nothing but the most likely token could be drawn anyway.
constexpr double kLowestTemperature = 1e-30;

// More likely first; of equals the lower id, so that the order is the same everywhere.
constexpr auto kMoreLikely = [](const auto& x, const auto& y) {
  return x.first != y.first ? x.first > y.first : x.second < y.second;
};

}  // namespace

void validate(const SamplingOptions& options) {
  require(std::isfinite(options.temperature) && options.temperature >= 0, "temperature", "a number from 0",
          options.temperature);
  require(options.top_k >= 0, "top-k", "a whole number from 0 (0: all)", static_cast<double>(options.top_k));
  require(options.top_p > 0 && options.top_p <= 1, "top-p", "a number above 0 and at most 1", options.top_p);
  require(options.min_p >= 0 && options.min_p <= 1, "min-p", "a number from 0 to 1", options.min_p);
  require(std::isfinite(options.repetition_penalty) && options.repetition_penalty > 0, "repetition-penalty",
          "a number above 0", options.repetition_penalty);
}

TokenSampler::TokenSampler(const SamplingOptions& options, std::span<const std::int32_t> prompt)
    : options_(options), random_(options.seed, "sampler") {
  validate(options);
  if (options_.repetition_penalty != 1) seen_.insert(prompt.begin(), prompt.end());
}

void TokenSampler::penalise(std::span<float> logits) const {
  const auto penalty = static_cast<float>(options_.repetition_penalty);
  for (const std::int32_t id : seen_) {
    float& logit = logits[static_cast<std::size_t>(id)];
    logit = logit > 0 ? logit / penalty : logit * penalty;
  }
}

std::int32_t TokenSampler::sample(std::span<float> logits) {
  if (options_.repetition_penalty != 1) penalise(logits);
  std::int32_t chosen = 0;
  if (options_.temperature < kLowestTemperature || options_.top_k == 1) {
    chosen = static_cast<std::int32_t>(ops::row_maximum(logits).index);
  } else {
    const auto scale = static_cast<float>(1 / options_.temperature);
    for (float& logit : logits) logit *= scale;
    const ops::RowMaximum row = ops::row_maximum(logits);
    const float floor = lowest_of_interest(row, logits.size());
    candidates_.clear();
    for (std::size_t i = 0; i < logits.size(); ++i) {
      if (logits[i] >= floor) candidates_.emplace_back(logits[i], static_cast<std::int32_t>(i));
    }
    if (!candidates_.empty()) chosen = draw(std::exp(row.log_sum_exp - row.value));
  }
  if (options_.repetition_penalty != 1) seen_.insert(chosen);
  return chosen;
}

// Below this no token can be chosen. 104 below the largest, a probability is nothing in fp32. And all tokens together
// that have less than (1 - p) / V have less than 1 - p: the nucleus is full before it comes to them.
float TokenSampler::lowest_of_interest(const ops::RowMaximum& row, std::size_t V) const {
  float floor = row.value - 104.0f;
  if (options_.top_p < 1 && options_.top_k == 0) {
    // A little lower than it is, for the rounding of the sum.
    const double share = (1 - options_.top_p) / static_cast<double>(V);
    floor = std::max(floor, static_cast<float>(row.log_sum_exp + std::log(share) - 1e-3));
  }
  return std::isnan(floor) ? -INFINITY : std::min(floor, row.value);
}

// `whole` is the weight of all tokens, where the most likely one has 1. Sorts only as many candidates as the nucleus
// needs.
std::int32_t TokenSampler::draw(double whole) {
  const auto begin = candidates_.begin();
  if (options_.top_k > 0 && static_cast<std::size_t>(options_.top_k) < candidates_.size()) {
    std::nth_element(begin, begin + options_.top_k - 1, candidates_.end(), kMoreLikely);
    candidates_.resize(static_cast<std::size_t>(options_.top_k));
  }
  const float largest = std::max_element(begin, candidates_.end(), [](const Candidate& x, const Candidate& y) {
                          return x.first < y.first;
                        })->first;
  const auto weight = [&](const Candidate& c) { return std::exp(static_cast<double>(c.first) - largest); };

  if (options_.top_p < 1) {
    if (options_.top_k > 0) {
      whole = 0;
      for (const Candidate& c : candidates_) whole += weight(c);
    }
    double reached = 0;
    std::size_t kept = 0, sorted = 0;
    while (kept < candidates_.size() && (kept == 0 || reached < options_.top_p * whole)) {
      if (kept == sorted) {
        sorted = std::min(candidates_.size(), std::max<std::size_t>(64, sorted * 4));
        const auto from = begin + static_cast<std::ptrdiff_t>(kept), to = begin + static_cast<std::ptrdiff_t>(sorted);
        std::nth_element(from, to - 1, candidates_.end(), kMoreLikely);
        std::sort(from, to, kMoreLikely);
      }
      reached += weight(candidates_[kept++]);
    }
    candidates_.resize(kept);
  }
  if (options_.min_p > 0) {
    std::erase_if(candidates_, [&](const Candidate& c) { return weight(c) < options_.min_p; });
  }

  weights_.clear();
  double total = 0;
  for (const Candidate& c : candidates_) weights_.push_back(total += weight(c));
  const double place = random_.uniform() * total;
  const auto chosen = std::upper_bound(weights_.begin(), weights_.end(), place);
  const auto last = static_cast<std::ptrdiff_t>(weights_.size()) - 1;
  return candidates_[static_cast<std::size_t>(std::min(chosen - weights_.begin(), last))].second;
}

}  // namespace crope::infer
