#include "crope/ops/cpu/skinny_product.h"

#include <algorithm>
#include <vector>

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "crope/ops/cpu/skinny_product.cc"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include "crope/ops/cpu/dot_block-inl.h"

HWY_BEFORE_NAMESPACE();
namespace crope::ops::cpu::HWY_NAMESPACE {

HWY_INLINE void store(float* y, float value, Output output) {
  *y = output == Output::add ? *y + value : value;
}

template <typename W>
HWY_INLINE void widen(const W* from, std::int64_t N, float* to) {
  const Tag d;
  const auto lanes = static_cast<std::int64_t>(hn::Lanes(d));
  std::int64_t n = 0;
  for (; n + lanes <= N; n += lanes) hn::StoreU(load(d, from + n), d, to + n);
  for (; n < N; ++n) to[n] = value(from[n]);
}

// Blocks of four rows of weights with all columns, while the next block comes from memory.
template <typename W>
class BlockProduct {
 public:
  BlockProduct(std::int64_t columns, std::int64_t N) : N_(N), sums_(static_cast<std::size_t>(columns) * kBlockRows) {
    columns_.reserve(static_cast<std::size_t>(columns));
    for (std::int64_t left = columns; left > 0; left -= block_columns(left)) ++passes_;
    // More than one pass widens the rows once for all.
    if (kNarrow && passes_ > 1) wide_.resize(static_cast<std::size_t>(kBlockRows * N));
  }

  void add_column(const float* column) { columns_.push_back(column); }

  // Sums of column c: [kBlockRows].
  const float* sums(std::int64_t c) const { return sums_.data() + c * kBlockRows; }

  // The first two rows of the next block stand at `first_next`, the others at `second_next`.
  void multiply(const W* const (&rows)[kBlockRows], const W* first_next, const W* second_next) {
    if (wide_.empty()) return multiply_rows(rows, first_next, second_next);
    const float* wide[kBlockRows];
    for (int i = 0; i < kBlockRows; ++i) {
      float* row = wide_.data() + i * N_;
      widen(rows[i], N_, row);
      wide[i] = row;
    }
    multiply_rows(wide, first_next, second_next);
  }

 private:
  template <typename V>
  void multiply_rows(const V* const (&rows)[kBlockRows], const W* first_next, const W* second_next) {
    // Each pass fetches its share of the next block, so that memory is busy all the time.
    const std::int64_t share = 2 * N_ * static_cast<std::int64_t>(sizeof(W)) / passes_;
    const auto lanes = static_cast<std::int64_t>(hn::Lanes(Tag()));
    Ahead ahead{reinterpret_cast<const char*>(first_next), reinterpret_cast<const char*>(second_next),
                std::max<std::int64_t>(1, share * lanes / std::max(lanes, N_))};
    const auto all = static_cast<std::int64_t>(columns_.size());
    auto* out = reinterpret_cast<float(*)[kBlockRows]>(sums_.data());
    for (std::int64_t c = 0; c < all;) {
      const std::int64_t count = block_columns(all - c);
      const float* const* x = columns_.data() + c;
      if (count == 3) {
        dot_block<3>(rows, x, N_, ahead, out + c);
      } else if (count == 2) {
        dot_block<2>(rows, x, N_, ahead, out + c);
      } else {
        dot_block<1>(rows, x, N_, ahead, out + c);
      }
      ahead.first += share;
      ahead.second += share;
      c += count;
    }
  }

  static constexpr bool kNarrow = sizeof(W) < sizeof(float);

  std::int64_t N_;
  std::int64_t passes_ = 0;
  std::vector<const float*> columns_;
  std::vector<float> sums_;
  std::vector<float> wide_;
};

// One column: nothing but reading the weights. fp32 rows keep the memory busy by themselves, four at a time; rows of
// bf16 are too short for that, so four parts of the matrix are read beside each other.
template <typename W>
void multiply_column(const float* x, const W* w, std::int64_t N, std::int64_t begin, std::int64_t end, float* y,
                     Output output) {
  constexpr bool kApart = sizeof(W) < sizeof(float);
  const std::int64_t steps = (end - begin + kBlockRows - 1) / kBlockRows;
  const std::int64_t apart = kApart ? steps : 1, stride = kApart ? 1 : kBlockRows;
  const auto bytes = static_cast<std::ptrdiff_t>(hn::Lanes(Tag()) * sizeof(W));
  float sums[1][kBlockRows];
  for (std::int64_t step = 0; step < steps; ++step) {
    const std::int64_t first = begin + step * stride;
    const W* rows[kBlockRows];
    for (std::int64_t i = 0; i < kBlockRows; ++i) rows[i] = w + std::min(first + i * apart, end - 1) * N;
    if constexpr (kApart) {
      // Two rows from the next but one on, of two of the parts in turn.
      const auto* one = reinterpret_cast<const char*>(rows[step % 2] + 2 * N);
      const auto* other = reinterpret_cast<const char*>(rows[step % 2 + 2] + 2 * N);
      dot_block<1>(rows, &x, N, Ahead{one, other, 2 * bytes}, sums);
    } else {
      dot_block<1>(rows, &x, N, NothingAhead{}, sums);
    }
    for (std::int64_t i = 0; i < kBlockRows; ++i) {
      if (first + i * apart < end) store(y + first + i * apart, sums[0][i], output);
    }
  }
}

template <typename W>
void multiply(const ConstMatrix& x, const WeightMatrix& weight, std::int64_t begin, std::int64_t end, const Matrix& y,
              Output output) {
  const W* w = static_cast<const W*>(weight.data);
  const std::int64_t N = weight.N;
  if (x.rows == 1) return multiply_column(x.data, w, N, begin, end, y.data, output);
  BlockProduct<W> product(x.rows, N);
  for (std::int64_t r = 0; r < x.rows; ++r) product.add_column(x.row(r));
  for (std::int64_t m = begin; m < end; m += kBlockRows) {
    const std::int64_t count = std::min<std::int64_t>(kBlockRows, end - m);
    const W* rows[kBlockRows];
    for (std::int64_t i = 0; i < kBlockRows; ++i) rows[i] = w + (m + std::min(i, count - 1)) * N;
    product.multiply(rows, w + (m + kBlockRows) * N, w + (m + kBlockRows + 2) * N);
    for (std::int64_t r = 0; r < x.rows; ++r) {
      for (std::int64_t i = 0; i < count; ++i) store(y.row(r) + m + i, product.sums(r)[i], output);
    }
  }
}

void SkinnyProduct(const ConstMatrix& x, const WeightMatrix& weight, std::int64_t begin, std::int64_t end,
                   const Matrix& y, Output output) {
  if (weight.type == WeightType::fp32) {
    multiply<float>(x, weight, begin, end, y, output);
  } else {
    multiply<Bf16>(x, weight, begin, end, y, output);
  }
}

// Two rows of a and two of b are a block; each row of x is two columns.
template <typename W>
void complex_multiply(const ConstMatrix& x, const WeightMatrix& a, const WeightMatrix& b, std::int64_t begin,
                      std::int64_t end, const Matrix& y, Output output) {
  const std::int64_t N = a.N, M = a.M;
  const W *a_rows = static_cast<const W*>(a.data), *b_rows = static_cast<const W*>(b.data);
  BlockProduct<W> product(2 * x.rows, N);
  for (std::int64_t r = 0; r < x.rows; ++r) {
    product.add_column(x.row(r));
    product.add_column(x.row(r) + N);
  }
  for (std::int64_t m = begin; m < end; m += 2) {
    const std::int64_t last = std::min(m + 1, end - 1);
    const W* rows[kBlockRows] = {a_rows + m * N, a_rows + last * N, b_rows + m * N, b_rows + last * N};
    product.multiply(rows, a_rows + (m + 2) * N, b_rows + (m + 2) * N);
    for (std::int64_t r = 0; r < x.rows; ++r) {
      const float *re = product.sums(2 * r), *im = product.sums(2 * r + 1);
      for (std::int64_t i = 0; i <= last - m; ++i) {
        float* out = y.row(r) + m + i;
        store(out, re[i] + im[2 + i], output);
        store(out + M, im[i] - re[2 + i], output);
      }
    }
  }
}

void SkinnyComplexProduct(const ConstMatrix& x, const WeightMatrix& a, const WeightMatrix& b, std::int64_t begin,
                          std::int64_t end, const Matrix& y, Output output) {
  if (a.type == WeightType::fp32) {
    complex_multiply<float>(x, a, b, begin, end, y, output);
  } else {
    complex_multiply<Bf16>(x, a, b, begin, end, y, output);
  }
}

}  // namespace crope::ops::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace crope::ops::cpu {

HWY_EXPORT(SkinnyProduct);
HWY_EXPORT(SkinnyComplexProduct);

void skinny_product(const ConstMatrix& x, const WeightMatrix& weight, std::int64_t begin, std::int64_t end,
                    const Matrix& y, Output output) {
  HWY_DYNAMIC_DISPATCH(SkinnyProduct)(x, weight, begin, end, y, output);
}

void skinny_complex_product(const ConstMatrix& x, const WeightMatrix& a, const WeightMatrix& b, std::int64_t begin,
                            std::int64_t end, const Matrix& y, Output output) {
  HWY_DYNAMIC_DISPATCH(SkinnyComplexProduct)(x, a, b, begin, end, y, output);
}

}  // namespace crope::ops::cpu
#endif
