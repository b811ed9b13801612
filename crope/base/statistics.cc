#include "crope/base/statistics.h"

#include <algorithm>
#include <boost/math/distributions/chi_squared.hpp>
#include <boost/math/distributions/normal.hpp>
#include <boost/math/distributions/students_t.hpp>
#include <boost/math/quadrature/gauss.hpp>
#include <boost/math/special_functions/gamma.hpp>
#include <boost/math/tools/toms748_solve.hpp>
#include <cmath>
#include <numeric>

namespace crope {
namespace {

constexpr double kNegligible = 1e-12;  // probability in a tail that integrals omit
constexpr double kNormalReach = 8;     // a standard normal value lies beyond it with probability 1e-15

// Gauss-Legendre quadrature on equal panels.
template <typename Function>
double integrate(const Function& function, double low, double high, int panels) {
  double sum = 0;
  const double width = (high - low) / panels;
  for (int i = 0; i < panels; ++i) {
    sum += boost::math::quadrature::gauss<double, 15>::integrate(function, low + i * width, low + (i + 1) * width);
  }
  return sum;
}

// P(range of `groups` independent standard normal values <= width).
double normal_range_cdf(double width, int groups) {
  const boost::math::normal normal;
  const auto lowest_at = [&](double z) {
    const double others = cdf(normal, z + width) - cdf(normal, z);
    return pdf(normal, z) * std::pow(others, groups - 1);
  };
  return std::min(1.0, groups * integrate(lowest_at, -kNormalReach, kNormalReach, 8));
}

}  // namespace

double SampleSummary::standard_error() const {
  return deviation / std::sqrt(static_cast<double>(size));
}

SampleSummary summarize(std::span<const double> values) {
  const auto n = static_cast<double>(values.size());
  SampleSummary summary{.mean = std::accumulate(values.begin(), values.end(), 0.0) / n, .size = values.size()};
  if (values.size() < 2) return summary;
  double squares = 0;
  for (const double value : values) squares += (value - summary.mean) * (value - summary.mean);
  summary.deviation = std::sqrt(squares / (n - 1));
  return summary;
}

double median(std::vector<double> values) {
  std::ranges::sort(values);
  return (values[(values.size() - 1) / 2] + values[values.size() / 2]) / 2;
}

double student_t_quantile(double probability, double degrees) {
  return quantile(boost::math::students_t(degrees), probability);
}

double student_t_upper_tail(double t, double degrees) {
  if (std::isinf(t)) return t > 0 ? 0 : 1;
  return cdf(complement(boost::math::students_t(degrees), t));
}

double student_t_two_sided_p(double t, double degrees) {
  return std::min(1.0, 2 * student_t_upper_tail(std::abs(t), degrees));
}

Interval student_interval(double estimate, double standard_error, double degrees, double level) {
  const double reach = student_t_quantile((1 + level) / 2, degrees) * standard_error;
  return {estimate - reach, estimate + reach};
}

double studentized_range_cdf(double q, int groups, double degrees) {
  if (q <= 0) return 0;
  if (std::isinf(q)) return 1;
  // The range is divided by s, the square root of a chi-squared variable over its degrees: the density of s is
  // 2 degrees s f(degrees s^2).
  const boost::math::chi_squared chi(degrees);
  const double low = std::sqrt(quantile(chi, kNegligible) / degrees);
  const double high = std::sqrt(quantile(complement(chi, kNegligible)) / degrees);
  const auto at_scale = [&](double s) {
    return 2 * degrees * s * pdf(chi, degrees * s * s) * normal_range_cdf(q * s, groups);
  };
  return std::clamp(integrate(at_scale, low, high, 12), 0.0, 1.0);
}

double studentized_range_p(double q, int groups, double degrees) {
  return 1 - studentized_range_cdf(q, groups, degrees);
}

double studentized_range_quantile(double probability, int groups, double degrees) {
  const auto excess = [&](double q) { return studentized_range_cdf(q, groups, degrees) - probability; };
  double high = 4;
  while (excess(high) < 0) high *= 2;
  std::uintmax_t steps = 100;
  const auto [below, above] =
      boost::math::tools::toms748_solve(excess, 0.0, high, boost::math::tools::eps_tolerance<double>(30), steps);
  return (below + above) / 2;
}

std::vector<double> holm_adjusted(std::span<const double> p_values) {
  std::vector<std::size_t> order(p_values.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::ranges::stable_sort(order, {}, [&](std::size_t i) { return p_values[i]; });
  std::vector<double> adjusted(p_values.size());
  double largest = 0;
  for (std::size_t rank = 0; rank < order.size(); ++rank) {
    const auto remaining = static_cast<double>(order.size() - rank);
    largest = std::max(largest, std::min(1.0, remaining * p_values[order[rank]]));
    adjusted[order[rank]] = largest;
  }
  return adjusted;
}

}  // namespace crope
