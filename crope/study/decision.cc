#include "crope/study/decision.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace crope::study {
namespace {

constexpr double kOrderInterval = 0.95;
constexpr double kEquivalenceInterval = 0.90;  // lies within the margin exactly if both one-sided 5% tests reject

constexpr double kLeastSpread = 1e-9;  // standard error over mean: below it is the arithmetic's own noise

bool has_spread(const Difference& difference) {
  return difference.standard_error > kLeastSpread * std::abs(difference.mean);
}

// Evidence before its test; for differences without spread it stays so.
Evidence untested(const Difference& difference, double level) {
  return {.estimate = difference.mean,
          .interval = interval_of(difference, level),
          .seeds = difference.seeds,
          .problem = has_spread(difference) ? "" : kNoSpread};
}

}  // namespace

std::string_view verdict_name(Verdict verdict) {
  switch (verdict) {
    case Verdict::holds:
      return "holds";
    case Verdict::does_not_hold:
      return "does not hold";
    case Verdict::undecided:
      return "undecided";
    case Verdict::not_measured:
      return "not measured";
  }
  return "";
}

Difference seed_difference(std::span<const double> values, double resolution) {
  const SampleSummary summary = summarize(values);
  const double rounding = resolution / std::sqrt(6 * static_cast<double>(summary.size));
  return {summary.mean, std::max(summary.standard_error(), rounding), summary.size};
}

Interval interval_of(const Difference& difference, double level) {
  return student_interval(difference.mean, difference.standard_error, difference.degrees(), level);
}

std::optional<Interval> interval_95(const Difference& difference) {
  if (difference.seeds < 2 || !has_spread(difference)) return {};
  return interval_of(difference, kOrderInterval);
}

Evidence order_evidence(const Difference& difference) {
  Evidence result = untested(difference, kOrderInterval);
  if (!result.problem.empty()) return result;
  result.p = student_t_two_sided_p(difference.mean / difference.standard_error, difference.degrees());
  result.if_significant = difference.mean > 0 ? Verdict::holds : Verdict::does_not_hold;
  return result;
}

Evidence best_evidence(std::span<const Difference> differences) {
  Evidence result = order_evidence(*std::ranges::min_element(differences, {}, &Difference::mean));
  const bool is_ahead = result.estimate > 0;
  double largest = 0, smallest = 1;
  for (const Difference& difference : differences) {
    const Evidence each = order_evidence(difference);
    if (!each.problem.empty()) result.problem = each.problem;
    largest = std::max(largest, each.p);
    if (each.estimate <= 0) smallest = std::min(smallest, each.p);
    result.seeds = std::min(result.seeds, each.seeds);
  }
  result.p = is_ahead ? largest : std::min(1.0, static_cast<double>(differences.size()) * smallest);
  if (result.p < 1) result.problem.clear();  // the variants that can be tested decide
  result.if_significant = is_ahead ? Verdict::holds : Verdict::does_not_hold;
  return result;
}

Evidence closeness_evidence(const Difference& difference, double margin) {
  Evidence result = untested(difference, kEquivalenceInterval);
  if (!result.problem.empty()) return result;
  const auto tail = [&](double distance) {
    return student_t_upper_tail(distance / difference.standard_error, difference.degrees());
  };
  if (std::abs(difference.mean) <= margin) {
    result.p = std::max(tail(margin + difference.mean), tail(margin - difference.mean));
    result.if_significant = Verdict::holds;
  } else {
    result.p = std::min(1.0, 2 * tail(std::abs(difference.mean) - margin));
    result.if_significant = Verdict::does_not_hold;
  }
  return result;
}

Evidence spread_evidence(std::span<const Difference> pairs, int groups, double margin) {
  const std::size_t seeds = pairs.front().seeds;
  const double degrees = (groups - 1) * (static_cast<double>(seeds) - 1);
  const auto range_error = [](const Difference& pair) { return pair.standard_error / std::sqrt(2.0); };
  double largest = 0;                                     // studentised difference
  double room = std::numeric_limits<double>::infinity();  // studentised distance to the margin
  std::string problem;
  for (const Difference& pair : pairs) {
    if (!has_spread(pair)) {
      problem = kNoSpread;
      continue;
    }
    largest = std::max(largest, std::abs(pair.mean) / range_error(pair));
    room = std::min(room, (margin - std::abs(pair.mean)) / range_error(pair));
  }
  const Difference& widest =
      *std::ranges::max_element(pairs, {}, [](const Difference& pair) { return std::abs(pair.mean); });
  const double reach = studentized_range_quantile(kEquivalenceInterval, groups, degrees) * range_error(widest);
  Evidence result{.estimate = widest.mean,
                  .interval = {widest.mean - reach, widest.mean + reach},
                  .seeds = seeds,
                  .problem = problem};
  if (!problem.empty()) return result;
  const double equivalence = studentized_range_p(room, groups, degrees) / 2;
  if (room > 0 && equivalence <= kLevel) {
    result.p = equivalence;
    result.if_significant = Verdict::holds;
  } else {
    result.p = studentized_range_p(largest, groups, degrees);
    result.if_significant = Verdict::does_not_hold;
  }
  return result;
}

bool is_above_chance(const Difference& above_chance) {
  return interval_of(above_chance, kOrderInterval).low > 0;
}

std::vector<Decision> decide(std::span<const Evidence> family) {
  std::vector<double> p_values;
  for (const Evidence& evidence : family) p_values.push_back(evidence.p);
  std::vector<Decision> decisions;
  for (const double adjusted : holm_adjusted(p_values)) {
    const Evidence& evidence = family[decisions.size()];
    decisions.push_back({adjusted <= kLevel ? evidence.if_significant : Verdict::undecided, adjusted});
  }
  return decisions;
}

}  // namespace crope::study
