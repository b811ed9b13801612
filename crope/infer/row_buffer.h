// Working memory: rows of floats that are kept from call to call.
#pragma once

#include <ATen/ATen.h>

#include <cstdint>
#include <cstring>
#include <span>
#include <utility>

#include "crope/ops/cpu/skinny_product.h"

namespace crope::infer {

class RowBuffer {
 public:
  // Makes it [rows, width]; what it held is lost. Memory grows and never shrinks.
  void resize(std::int64_t rows, std::int64_t width, std::int64_t gap = kGap) {
    rows_ = rows;
    width_ = width;
    stride_ = width + gap;
    if (!storage_.defined() || storage_.numel() < rows * stride_) storage_ = at::empty({rows * stride_}, at::kFloat);
    data_ = storage_.data_ptr<float>();
  }

  // Keeps the rows that pieces have, [begin, end) each, ascending, one behind the other, and says how many they are.
  std::int64_t keep(std::span<const std::pair<std::int64_t, std::int64_t>> pieces) {
    std::int64_t kept = 0;
    for (const auto& [begin, end] : pieces) {
      std::memmove(row(kept), row(begin), static_cast<std::size_t>((end - begin) * stride_) * sizeof(float));
      kept += end - begin;
    }
    return rows_ = kept;
  }

  float* row(std::int64_t r) const { return data_ + r * stride_; }
  ops::cpu::InputRows input() const { return {data_, stride_, rows_}; }
  ops::cpu::OutputRows output() const { return {data_, stride_}; }

  // [rows, width] of the same memory.
  at::Tensor tensor() const { return storage_.as_strided({rows_, width_}, {stride_, 1}); }

 private:
  // Rows a power of two apart would fall on the same few lines of the cache.
  static constexpr std::int64_t kGap = 16;

  at::Tensor storage_;
  float* data_ = nullptr;
  std::int64_t rows_ = 0, width_ = 0, stride_ = 0;
};

}  // namespace crope::infer
