// Working memory: rows of floats that are kept from call to call.
#pragma once

#include <ATen/ATen.h>

#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "crope/ops/device.h"

namespace crope::infer {

class RowBuffer {
 public:
  // Makes it [rows, width]; what it held is lost. Memory grows and never shrinks.
  void resize(std::int64_t rows, std::int64_t width, std::int64_t gap = kGap) {
    const std::int64_t stride = width + gap;
    if (!storage_.defined() || storage_.numel() < rows * stride) storage_ = at::empty({rows * stride}, at::kFloat);
    view_ = {ops::mutable_view(storage_).data, rows, width, stride};
  }

  // Keeps the rows that pieces have, [begin, end) each, ascending, one behind the other, and returns their number.
  std::int64_t keep(std::span<const std::pair<std::int64_t, std::int64_t>> pieces) {
    std::vector<at::Tensor> kept;
    for (const auto& [begin, end] : pieces) kept.push_back(tensor().narrow(0, begin, end - begin));
    const at::Tensor joined = at::cat(kept);
    view_.rows = joined.size(0);
    tensor().copy_(joined);
    return view_.rows;
  }

  // The memory as kernels and as ATen see it, [rows, width].
  const ops::Matrix& view() const { return view_; }
  at::Tensor tensor() const { return storage_.as_strided({view_.rows, view_.columns}, {view_.stride, 1}); }

 private:
  // Rows a power of two apart would fall on the same few lines of the cache.
  static constexpr std::int64_t kGap = 16;

  at::Tensor storage_;
  ops::Matrix view_;
};

}  // namespace crope::infer
