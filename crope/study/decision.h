// How evidence becomes a verdict (docs/claims.md). Every rule needs at least two seeds.
#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "crope/base/statistics.h"

namespace crope::study {

enum class Verdict { holds, does_not_hold, undecided, not_measured };

// "holds", "does not hold", "undecided", "not measured".
std::string_view verdict_name(Verdict verdict);

// The level of Holm's correction over all claims that are tested.
inline constexpr double kLevel = 0.05;

// An estimated difference of two variants, paired by seed.
struct Difference {
  double mean = 0;
  double standard_error = 0;
  std::size_t seeds = 0;

  double degrees() const { return static_cast<double>(seeds) - 1; }
};

// The mean of one difference per seed, with its standard error over seeds. `resolution` is the step in which the
// compared values were logged (seed_pairs.h): each difference has at least the variance of two roundings,
// resolution^2 / 6.
Difference seed_difference(std::span<const double> values, double resolution = 0);

// Student's interval of the mean at confidence `level`. REQUIRES: at least two seeds.
Interval interval_of(const Difference& difference, double level);

// The 95% interval of the mean; nothing for one seed, or without any spread.
std::optional<Interval> interval_95(const Difference& difference);

// The result of a test, before the correction for several claims.
struct Evidence {
  double estimate = 0;
  Interval interval;
  std::size_t seeds = 0;
  double p = 1;
  Verdict if_significant = Verdict::undecided;
  std::string problem = {};  // why there is no test: p is 1 then; empty if there is one
};

// Differences without spread show nothing: they come from copied runs, or from losses that were rounded in a way that
// resolution_of does not recognise. Every test below gives p = 1 and this problem for them.
inline constexpr const char* kNoSpread =
    "the differences of all seeds are equal: the runs are copies, or the losses are rounded";

// "A is better than B" from a difference that is positive when A is better: two-sided Student test, 95% interval.
Evidence order_evidence(const Difference& difference);

// "A is better than each of these": holds if every difference is significant (the largest p counts). If any difference
// is negative, the smallest p among those counts, times the number of differences, against the claim. The estimate is
// the smallest difference. REQUIRES: at least one difference.
Evidence best_evidence(std::span<const Difference> differences);

// "A is close to B": two one-sided tests against -margin and +margin, whose larger p counts, if the estimate lies
// within the margin; otherwise a two-sided test that the difference exceeds the margin, against the claim. 90%
// interval.
Evidence closeness_evidence(const Difference& difference, double margin);

// "`groups` variants do not differ", from all pairwise differences in a layout with seeds as blocks: (groups - 1)
// (seeds - 1) degrees of freedom. Holds if all simultaneous 90% intervals (Tukey) lie within the margin; otherwise the
// studentised range test of equality counts, against the claim. Estimate and interval belong to the largest difference.
// REQUIRES: groups >= 2, all pairs.
Evidence spread_evidence(std::span<const Difference> pairs, int groups, double margin);

// Whether a score exceeds chance: the 95% interval of score - chance lies above 0.
bool is_above_chance(const Difference& above_chance);

struct Decision {
  Verdict verdict = Verdict::undecided;
  double adjusted_p = 1;  // Holm's
};

// Corrects all evidence together: a claim is decided if its adjusted p is at most kLevel.
std::vector<Decision> decide(std::span<const Evidence> family);

}  // namespace crope::study
