#include "crope/report/axis.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace crope::report {

Extent::Extent() : low(INFINITY), high(-INFINITY) {}

void Extent::take(double value) {
  if (!std::isfinite(value)) return;
  low = std::min(low, value);
  high = std::max(high, value);
}

Extent Extent::padded(double share) const {
  if (empty()) return {0, 1};
  const double pad = size() > 0 ? share * size() : std::max(1e-9, 0.05 * std::abs(low));
  return {low - pad, high + pad};
}

double round_step(const Extent& extent, double count) {
  const double step = extent.size() / count, power = std::pow(10, std::floor(std::log10(step)));
  const double digit = step / power;
  return power * (digit <= 1 ? 1 : digit <= 2 ? 2 : digit <= 5 ? 5 : 10);
}

int decimals(double step) {
  return std::max(0, -static_cast<int>(std::floor(std::log10(step) + 1e-9)));
}

std::string range_command(const char* axis, const Extent& extent) {
  return fmt::format("set {} [{:.9g}:{:.9g}]\n", axis, extent.low, extent.high);
}

std::string tics_command(const char* axis, const Extent& extent, double count) {
  if (extent.empty() || extent.size() <= 0) return {};
  return fmt::format("set {} {:.9g}\n", axis, round_step(extent, count));
}

}  // namespace crope::report
