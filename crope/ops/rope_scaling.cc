#include "crope/ops/rope_scaling.h"

#include <algorithm>
#include <cmath>
#include <numbers>

namespace crope::ops {
namespace {

constexpr double kWholeTurn = 2 * std::numbers::pi;

// The pair, as a fraction, that turns `turns` times within `length` positions.
double pair_of_turns(double turns, double K, double base, double length) {
  return K * std::log(length / (turns * kWholeTurn)) / (2 * std::log(base));
}

std::vector<double> yarn_frequencies(std::vector<double> theta, double base, const RopeScaling& scaling,
                                     double length) {
  const double K = 2 * static_cast<double>(theta.size());
  double low = pair_of_turns(scaling.beta_fast, K, base, length);
  double high = pair_of_turns(scaling.beta_slow, K, base, length);
  if (scaling.truncate) {
    low = std::floor(low);
    high = std::ceil(high);
  }
  low = std::max(low, 0.0);
  high = std::min(high, K - 1);
  if (low == high) high += 0.001;
  for (std::size_t j = 0; j < theta.size(); ++j) {
    const double divided = std::clamp((static_cast<double>(j) - low) / (high - low), 0.0, 1.0);
    theta[j] = theta[j] / scaling.factor * divided + theta[j] * (1 - divided);
  }
  return theta;
}

double llama3_frequency(double theta, const RopeScaling& scaling, double length) {
  const double turns = length * theta / kWholeTurn;
  if (turns > scaling.high_freq_factor) return theta;
  if (turns < scaling.low_freq_factor) return theta / scaling.factor;
  const double kept = (turns - scaling.low_freq_factor) / (scaling.high_freq_factor - scaling.low_freq_factor);
  return (1 - kept) * theta / scaling.factor + kept * theta;
}

}  // namespace

std::vector<double> rope_frequencies(std::int64_t K, double base, const RopeScaling& scaling, std::int64_t window) {
  const auto width = static_cast<double>(K), length = static_cast<double>(window);
  const double original = scaling.original_length > 0 ? static_cast<double>(scaling.original_length) : length;
  if (scaling.type == RopeStretch::dynamic && K > 2) {
    const double stretch = scaling.factor * std::max(length, original) / original - (scaling.factor - 1);
    base *= std::pow(stretch, width / (width - 2));
  }
  std::vector<double> theta;
  for (std::int64_t j = 0; 2 * j < K; ++j) theta.push_back(std::pow(base, -2 * static_cast<double>(j) / width));
  if (scaling.type == RopeStretch::yarn) return yarn_frequencies(std::move(theta), base, scaling, original);
  for (double& each : theta) {
    if (scaling.type == RopeStretch::linear) each /= scaling.factor;
    if (scaling.type == RopeStretch::llama3) each = llama3_frequency(each, scaling, original);
  }
  return theta;
}

double rope_amplitude(const RopeScaling& scaling) {
  if (scaling.type != RopeStretch::yarn) return 1;
  if (scaling.attention_factor > 0) return scaling.attention_factor;
  return scaling.factor <= 1 ? 1 : 0.1 * std::log(scaling.factor) + 1;
}

}  // namespace crope::ops
