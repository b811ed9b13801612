// Places for labels beside the things they name, none on top of another.
#pragma once

#include <vector>

namespace crope::report {

// Positions as near as possible (in squares) to `wanted`, at least `gap` apart and in the same order, between `low` and
// `high` where they fit.
std::vector<double> spread_labels(const std::vector<double>& wanted, double gap, double low, double high);

}  // namespace crope::report
