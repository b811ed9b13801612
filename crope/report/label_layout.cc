#include "crope/report/label_layout.h"

#include <algorithm>
#include <numeric>

namespace crope::report {
namespace {

// Labels that touch each other move as one.
struct TouchingLabels {
  double sum;  // of the members' wanted positions, each less its distance from the first
  std::size_t count;

  double first() const { return sum / static_cast<double>(count); }
};

}  // namespace

std::vector<double> spread_labels(const std::vector<double>& wanted, double gap, double low, double high) {
  std::vector<std::size_t> order(wanted.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::ranges::stable_sort(order, {}, [&](std::size_t i) { return wanted[i]; });
  // Without the gaps the positions need only ascend: neighbours that do not are pooled.
  std::vector<TouchingLabels> blocks;
  for (std::size_t rank = 0; rank < order.size(); ++rank) {
    blocks.push_back({wanted[order[rank]] - gap * static_cast<double>(rank), 1});
    while (blocks.size() > 1 && blocks[blocks.size() - 2].first() > blocks.back().first()) {
      const TouchingLabels last = blocks.back();
      blocks.pop_back();
      blocks.back() = {blocks.back().sum + last.sum, blocks.back().count + last.count};
    }
  }
  const double highest = std::max(low, high - gap * static_cast<double>(std::max<std::size_t>(1, wanted.size()) - 1));
  std::vector<double> placed(wanted.size());
  std::size_t rank = 0;
  for (const TouchingLabels& block : blocks) {
    for (std::size_t i = 0; i < block.count; ++i, ++rank) {
      placed[order[rank]] = std::clamp(block.first(), low, highest) + gap * static_cast<double>(rank);
    }
  }
  return placed;
}

}  // namespace crope::report
