#include "crope/study/seed_pairs.h"

#include <algorithm>
#include <cmath>

namespace crope::study {
namespace {

constexpr int kMostDecimals = 9;
constexpr double kWholeWithin = 1e-12;  // relative to the value

}  // namespace

std::vector<double> SeedPairs::differences() const {
  std::vector<double> found;
  for (std::size_t i = 0; i < a.size(); ++i) found.push_back(b[i] - a[i]);
  return found;
}

SeedPairs pair_by_seed(const BySeed& a, const BySeed& b) {
  SeedPairs pairs;
  for (const auto& [seed, value] : a) {
    const auto other = b.find(seed);
    if (other == b.end()) continue;
    pairs.a.push_back(value);
    pairs.b.push_back(other->second);
  }
  return pairs;
}

double resolution_of(std::span<const double> values) {
  if (values.empty()) return 0;
  for (int decimals = 0; decimals <= kMostDecimals; ++decimals) {
    const double scale = std::pow(10.0, decimals);
    const auto is_multiple = [&](double value) {
      return std::abs(value * scale - std::round(value * scale)) <= kWholeWithin * std::abs(value * scale);
    };
    if (std::ranges::all_of(values, is_multiple)) return 1 / scale;
  }
  return 0;
}

}  // namespace crope::study
