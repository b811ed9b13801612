// Statistics of small samples: means with intervals, p-values, and corrections for several tests.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

namespace crope {

struct SampleSummary {
  double mean = 0;
  double deviation = 0;  // sample standard deviation (divides by size - 1); 0 for a single value
  std::size_t size = 0;

  double standard_error() const;  // deviation / sqrt(size)
};

// REQUIRES: at least one value.
SampleSummary summarize(std::span<const double> values);

// The middle of the sorted values; the mean of the two in the middle if their number is even.
// REQUIRES: at least one value.
double median(std::vector<double> values);

struct Interval {
  double low = 0;
  double high = 0;
};

// Quantile of Student's t distribution. REQUIRES: 0 < probability < 1, degrees > 0.
double student_t_quantile(double probability, double degrees);

// P(T > t). An infinite t is allowed. REQUIRES: degrees > 0.
double student_t_upper_tail(double t, double degrees);

// P(|T| > |t|). An infinite t is allowed. REQUIRES: degrees > 0.
double student_t_two_sided_p(double t, double degrees);

// The two-sided Student interval of an estimate at confidence `level`, 0.95 for 95%. REQUIRES: degrees > 0.
Interval student_interval(double estimate, double standard_error, double degrees, double level);

// P(Q <= q) for the studentised range of `groups` means, with `degrees` degrees of freedom of the variance. The
// absolute error is under 1e-8. REQUIRES: groups >= 2, degrees >= 1.
double studentized_range_cdf(double q, int groups, double degrees);

// P(Q > q). An infinite q is allowed.
double studentized_range_p(double q, int groups, double degrees);

// REQUIRES: 0 < probability < 1.
double studentized_range_quantile(double probability, int groups, double degrees);

// Holm's adjusted p-values, in the order given: a hypothesis is rejected at a level when its adjusted p-value is at
// most that level. The chance of any wrong rejection stays within the level, however the tests depend on each other.
std::vector<double> holm_adjusted(std::span<const double> p_values);

}  // namespace crope
