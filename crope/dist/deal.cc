#include "crope/dist/deal.h"

#include <algorithm>
#include <numeric>

namespace crope::dist {

std::vector<int> deal(std::span<const double> costs, int ranks) {
  std::vector<std::size_t> order(costs.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::ranges::stable_sort(order, [&](std::size_t i, std::size_t j) { return costs[i] > costs[j]; });
  std::vector<double> loads(static_cast<std::size_t>(ranks), 0.0);
  std::vector<int> owners(costs.size());
  for (const std::size_t i : order) {
    const auto least = std::ranges::min_element(loads);
    *least += costs[i];
    owners[i] = static_cast<int>(least - loads.begin());
  }
  return owners;
}

Stretch stretch_of(std::int64_t items, int rank, int ranks) {
  const std::int64_t share = items / ranks, rest = items % ranks;
  const std::int64_t first = rank * share + std::min<std::int64_t>(rank, rest);
  return {.first = first, .count = share + (rank < rest ? 1 : 0)};
}

}  // namespace crope::dist
