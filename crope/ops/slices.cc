#include "crope/ops/slices.h"

#include <ATen/ATen.h>

#include <algorithm>

namespace crope::ops {

using torch::Tensor;

Tensor as_rows(const Tensor& x) {
  const Tensor rows = x.reshape({-1, x.size(-1)});
  return rows.stride(-1) == 1 || rows.size(-1) == 1 ? rows : rows.contiguous();
}

std::vector<Tensor> empty_like_slices(const std::vector<Tensor>& originals) {
  const Tensor& first = originals.front();
  const int64_t row_stride = first.stride(0), rows = first.size(0);
  int64_t lowest = first.storage_offset();
  for (const Tensor& x : originals) lowest = std::min(lowest, x.storage_offset());
  const bool are_slices = std::ranges::all_of(originals, [&](const Tensor& x) {
    int64_t extent = 1;  // of one row of x
    for (int64_t dim = 1; dim < x.dim(); ++dim) extent += (x.size(dim) - 1) * x.stride(dim);
    return x.is_alias_of(first) && x.size(0) == rows && x.stride(0) == row_stride &&
           x.storage_offset() - lowest + extent <= row_stride;
  });
  std::vector<Tensor> results;
  if (!are_slices) {
    for (const Tensor& x : originals) results.push_back(at::empty(x.sizes(), x.options()));
    return results;
  }
  const Tensor wide = at::empty({rows, row_stride}, first.options());
  for (const Tensor& x : originals) {
    results.push_back(wide.as_strided(x.sizes(), x.strides(), x.storage_offset() - lowest));
  }
  return results;
}

std::optional<Tensor> joined_columns(const std::vector<Tensor>& slices) {
  const Tensor& first = slices.front();
  int64_t width = 0;
  for (const Tensor& x : slices) {
    if (x.dim() != 2 || !x.is_alias_of(first) || x.size(0) != first.size(0) || x.stride(0) != first.stride(0) ||
        x.stride(1) != 1 || x.storage_offset() != first.storage_offset() + width) {
      return std::nullopt;
    }
    width += x.size(1);
  }
  if (width > first.stride(0)) return std::nullopt;
  return first.as_strided({first.size(0), width}, {first.stride(0), 1}, first.storage_offset());
}

}  // namespace crope::ops
