#include "crope/model/pair_layout.h"

#include <ATen/ATen.h>

namespace crope::model {
namespace {

using torch::Tensor;

// A view of `x`: each dimension that is listed is split in [first, second], and the two are swapped.
Tensor swap_factors(const Tensor& x, std::span<const int> dimensions, bool pairs_first) {
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
  return x.view(split).permute(order);
}

// From the file's memory into the new one in a single pass: no second copy stands beside them.
Tensor copy_swapped(const Tensor& x, std::span<const int> dimensions, bool pairs_first,
                    const torch::TensorOptions& options) {
  const Tensor swapped = swap_factors(x, dimensions, pairs_first);
  const Tensor result = at::empty(x.sizes(), options.requires_grad(false));
  result.view(swapped.sizes()).copy_(swapped);
  return result;
}

}  // namespace

Tensor pairs_to_halves(const Tensor& x, std::span<const int> dimensions) {
  return pairs_to_halves(x, dimensions, x.options());
}

Tensor pairs_to_halves(const Tensor& x, std::span<const int> dimensions, const torch::TensorOptions& options) {
  return dimensions.empty() ? x.to(options) : copy_swapped(x, dimensions, /*pairs_first=*/true, options);
}

Tensor halves_to_pairs(const Tensor& x, std::span<const int> dimensions) {
  return dimensions.empty() ? x : copy_swapped(x, dimensions, /*pairs_first=*/false, x.options());
}

}  // namespace crope::model
