#include "crope/model/pair_layout.h"

#include <ATen/ATen.h>

namespace crope::model {
namespace {

using torch::Tensor;

// Views each dimension of `x` that is listed as [first, second] and swaps the two.
Tensor swap_factors(const Tensor& x, std::span<const int> dimensions, bool pairs_first) {
  if (dimensions.empty()) return x;
  std::vector<int64_t> split, order;
  for (int64_t d = 0; d < x.dim(); ++d) {
    const auto place = static_cast<int64_t>(split.size());
    if (std::ranges::find(dimensions, d) == dimensions.end()) {
      split.push_back(x.size(d));
      order.push_back(place);
      continue;
    }
    const int64_t half = x.size(d) / 2;
    split.push_back(pairs_first ? half : 2);
    split.push_back(pairs_first ? 2 : half);
    order.push_back(place + 1);
    order.push_back(place);
  }
  return x.view(split).permute(order).contiguous().view(x.sizes());
}

}  // namespace

Tensor pairs_to_halves(const Tensor& x, std::span<const int> dimensions) {
  return swap_factors(x, dimensions, /*pairs_first=*/true);
}

Tensor halves_to_pairs(const Tensor& x, std::span<const int> dimensions) {
  return swap_factors(x, dimensions, /*pairs_first=*/false);
}

}  // namespace crope::model
