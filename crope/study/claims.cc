#include "crope/study/claims.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <map>

#include "crope/model/variant.h"

namespace crope::study {
namespace {

constexpr double kErrors = 2;  // standard errors that make a difference

using ByVariant = std::map<std::string, std::vector<Outcome>>;
using Value = std::function<std::optional<double>(const Outcome&)>;

std::string format_estimate(const Estimate& value) {
  const std::string error = value.error ? fmt::format("± {:.4f}", *value.error) : "(one seed)";
  return fmt::format("{:+.4f} {}", value.mean, error);
}

// value(higher) - value(lower), seed by seed; empty if a variant or a value is missing.
std::vector<double> differences(const ByVariant& runs, const std::string& higher, const std::string& lower,
                                const Value& value) {
  std::vector<double> found;
  if (!runs.contains(higher) || !runs.contains(lower)) return found;
  const auto &a = runs.at(higher), &b = runs.at(lower);
  for (std::size_t i = 0; i < std::min(a.size(), b.size()); ++i) {
    const auto x = value(a[i]), y = value(b[i]);
    if (x && y) found.push_back(*x - *y);
  }
  return found;
}

// The mean score of a variant, with the larger of the error over seeds and that of the items.
std::optional<Estimate> mean_score(const ByVariant& runs, const std::string& variant, const std::string& task) {
  if (!runs.contains(variant)) return {};
  std::vector<double> values;
  double item_variance = 0;
  for (const Outcome& outcome : runs.at(variant)) {
    for (const eval::Headline& line : outcome.scores) {
      if (line.task != task) continue;
      values.push_back(line.value);
      item_variance += std::pow(line.standard_error.value_or(0), 2);
    }
  }
  if (values.empty()) return {};
  Estimate result = estimate(values);
  const double of_items = std::sqrt(item_variance) / static_cast<double>(values.size());
  result.error = std::max(result.error.value_or(0), of_items);
  return result;
}

Claim loss_claim(const ByVariant& runs, const std::string& worse, const std::string& better, std::string paper) {
  Claim claim{.text = fmt::format("validation loss: {} below {}", better, worse),
              .paper = std::move(paper),
              .ours = "-",
              .verdict = Verdict::not_measured};
  const auto found = differences(runs, worse, better, [](const Outcome& each) { return each.val_loss; });
  if (found.empty()) return claim;
  const Estimate difference = estimate(found);
  claim.ours = format_estimate(difference) + " nats";
  claim.verdict = above_zero(difference);
  return claim;
}

// A score of two variants compared. `close`: that they are equal is the claim.
Claim score_claim(const ByVariant& runs, const std::string& task, const std::string& one, const std::string& other,
                  std::string paper, bool close) {
  Claim claim{.text = fmt::format("{}: {} {} {}", task, one, close ? "as good as" : "better than", other),
              .paper = std::move(paper),
              .ours = "-",
              .verdict = Verdict::not_measured};
  const auto a = mean_score(runs, one, task), b = mean_score(runs, other, task);
  if (!a || !b) return claim;
  const Estimate difference{a->mean - b->mean, std::hypot(*a->error, *b->error)};
  claim.ours = fmt::format("{:.3f} against {:.3f}, {}", a->mean, b->mean, format_estimate(difference));
  claim.verdict = above_zero(difference);
  if (close && claim.verdict == Verdict::within_noise) claim.verdict = Verdict::holds;
  return claim;
}

Claim spread_claim(const ByVariant& runs, const std::string& task, std::string paper) {
  Claim claim{.text = fmt::format("{}: no clear difference between variants", task),
              .paper = std::move(paper),
              .ours = "-",
              .verdict = Verdict::not_measured};
  std::vector<Estimate> scores;
  for (const auto& [variant, outcomes] : runs) {
    if (const auto score = mean_score(runs, variant, task)) scores.push_back(*score);
  }
  if (scores.size() < 2) return claim;
  const auto [low, high] = std::ranges::minmax(scores, {}, &Estimate::mean);
  claim.ours = fmt::format("{:.3f} to {:.3f}, ± {:.3f}", low.mean, high.mean, *high.error);
  claim.verdict =
      high.mean - low.mean <= kErrors * std::hypot(*low.error, *high.error) ? Verdict::holds : Verdict::does_not_hold;
  return claim;
}

Claim saving_claim(const ByVariant& runs, const std::string& variant, double saving) {
  Claim claim{.text = fmt::format("{} saves attention parameters", variant),
              .paper = fmt::format("{:.1f}%", 100 * saving),
              .ours = "-",
              .verdict = Verdict::not_measured};
  if (!runs.contains(variant) || !runs.contains("rope")) return claim;
  const auto full = static_cast<double>(runs.at("rope")[0].attention_parameters);
  const double found = 1 - static_cast<double>(runs.at(variant)[0].attention_parameters) / full;
  claim.ours = fmt::format("{:.1f}%", 100 * found);
  claim.verdict = found == saving ? Verdict::holds : Verdict::does_not_hold;
  return claim;
}

}  // namespace

std::string_view verdict_name(Verdict verdict) {
  switch (verdict) {
    case Verdict::holds:
      return "holds";
    case Verdict::within_noise:
      return "within noise";
    case Verdict::does_not_hold:
      return "does not hold";
    case Verdict::not_measured:
      return "not measured";
  }
  return "";
}

Estimate estimate(std::span<const double> values) {
  const auto n = static_cast<double>(values.size());
  Estimate result;
  for (const double value : values) result.mean += value / n;
  if (values.size() < 2) return result;
  double squares = 0;
  for (const double value : values) squares += std::pow(value - result.mean, 2);
  result.error = std::sqrt(squares / (n - 1) / n);
  return result;
}

Verdict above_zero(const Estimate& difference) {
  const double noise = kErrors * difference.error.value_or(0);
  if (difference.error && std::abs(difference.mean) <= noise) return Verdict::within_noise;
  return difference.mean > 0 ? Verdict::holds : Verdict::does_not_hold;
}

std::vector<Claim> judge_claims(std::span<const Outcome> outcomes) {
  ByVariant runs;
  for (const Outcome& outcome : outcomes) runs[outcome.variant].push_back(outcome);
  return {
      saving_claim(runs, "crope_qk", 0.25),
      saving_claim(runs, "crope_qkv", 0.375),
      saving_claim(runs, "crope_all", 0.5),
      loss_claim(runs, "crope_all", "rope", "rope is lowest"),
      loss_claim(runs, "half_rope_all", "crope_all", "crope_all below half_rope_all"),
      loss_claim(runs, "half_rope_qk", "crope_qk", "crope_qk below half_rope_qk"),
      loss_claim(runs, "half_rope_qk", "crope_qkv", "crope_qkv below half_rope_qk"),
      score_claim(runs, "hellaswag", "crope_all", "rope", "0.327 against 0.331", /*close=*/true),
      score_claim(runs, "hellaswag", "crope_all", "half_rope_all", "0.327 against 0.320", /*close=*/false),
      spread_claim(runs, "mmlu", "0.229 to 0.232"),
      spread_claim(runs, "gsm8k", "0.012 to 0.015"),
  };
}

}  // namespace crope::study
