// Work shared out among ranks.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace crope::dist {

// The rank of each piece of work: the most expensive first, each to the rank that has least so far. The same costs give
// the same answer on every rank. REQUIRES: ranks > 0.
std::vector<int> deal(std::span<const double> costs, int ranks);

// The stretch [first, first + count) of `items` that is rank `rank`'s: stretches are in order of rank, cover all, and
// differ by at most one.
struct Stretch {
  std::int64_t first;
  std::int64_t count;
};
Stretch stretch_of(std::int64_t items, int rank, int ranks);

}  // namespace crope::dist
