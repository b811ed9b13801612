// Values of two sets of runs, paired by seed.
#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <vector>

namespace crope::study {

using BySeed = std::map<std::int64_t, double>;  // seed -> value of its run

struct SeedPairs {
  std::vector<double> a, b;  // seed by seed

  std::vector<double> differences() const;  // b - a
};

// The seeds that both have, in ascending order.
SeedPairs pair_by_seed(const BySeed& a, const BySeed& b);

// The resolution of logged values: the largest power of ten, from 1 to 1e-9, of which all values are whole multiples
// (within 1e-12 of each value). 0.001 for values with three decimals; 0 for values of full precision, and without any.
double resolution_of(std::span<const double> values);

}  // namespace crope::study
