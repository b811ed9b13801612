#include "crope/ops/cpu/symmetric_tiles.h"

#include <algorithm>

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "crope/ops/cpu/symmetric_tiles.cc"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include "crope/ops/cpu/vector_loop-inl.h"

HWY_BEFORE_NAMESPACE();
namespace crope::ops::cpu::HWY_NAMESPACE {

constexpr std::int64_t kTile = 16;

// A tile at (row, column) of the lower triangle, and where its mirror image is.
struct Tile {
  std::int64_t n, row, column, height, width;
};

struct alignas(64) TileBuffer {
  float at[kTile][kTile];
};

template <typename Body>
HWY_INLINE HWY_ATTR void for_each_lower_tile(std::int64_t n, const Body& body) {
  for (std::int64_t row = 0; row < n; row += kTile) {
    for (std::int64_t column = 0; column <= row; column += kTile) {
      body(Tile{n, row, column, std::min(kTile, n - row), std::min(kTile, n - column)});
    }
  }
}

// The mirror image's entries, turned back: buffer[i][j] = x[column + j][row + i].
HWY_INLINE HWY_ATTR void load_mirrored(const Tile& t, const float* x, TileBuffer& buffer) {
  for (std::int64_t j = 0; j < t.width; ++j) {
    const float* from = x + (t.column + j) * t.n + t.row;
    for (std::int64_t i = 0; i < t.height; ++i) buffer.at[i][j] = from[i];
  }
}

// Copies the tile of x to its mirror image, with a sign. On the diagonal the strictly lower part decides.
HWY_INLINE HWY_ATTR void mirror(const Tile& t, float* x, float sign) {
  TileBuffer transposed;
  for (std::int64_t i = 0; i < t.height; ++i) {
    const float* from = x + (t.row + i) * t.n + t.column;
    for (std::int64_t j = 0; j < t.width; ++j) transposed.at[j][i] = from[j] * sign;
  }
  for (std::int64_t j = 0; j < t.width; ++j) {
    float* to = x + (t.column + j) * t.n + t.row;
    const std::int64_t first = t.row == t.column ? j + 1 : 0;
    for (std::int64_t i = first; i < t.height; ++i) to[i] = transposed.at[j][i];
  }
}

void Symmetric(std::int64_t n, float* g, const float* s, float c0, float c1, float c2) {
  for_each_lower_tile(n, [&](const Tile& t) HWY_ATTR {
    for (std::int64_t i = 0; i < t.height; ++i) {
      float* g_row = g + (t.row + i) * n + t.column;
      const float* s_row = s == nullptr ? nullptr : s + (t.row + i) * n + t.column;
      for_each_vector(t.width, [&](auto d, std::int64_t j) HWY_ATTR {
        auto value = hn::Mul(hn::LoadU(d, g_row + j), hn::Set(d, c2));
        if (s_row != nullptr) value = hn::MulAdd(hn::LoadU(d, s_row + j), hn::Set(d, c1), value);
        hn::StoreU(value, d, g_row + j);
      });
      if (t.row == t.column) g_row[i] += c0;
    }
    mirror(t, g, 1.0f);
  });
}

void Gram(std::int64_t n, const HermitianGram& call) {
  for_each_lower_tile(n, [&](const Tile& t) HWY_ATTR {
    TileBuffer transposed;
    load_mirrored(t, call.q, transposed);
    for (std::int64_t i = 0; i < t.height; ++i) {
      const std::int64_t at = (t.row + i) * n + t.column;
      for_each_vector(t.width, [&](auto d, std::int64_t j) HWY_ATTR {
        const auto q = hn::LoadU(d, call.q + at + j), q_transposed = hn::LoadU(d, transposed.at[i] + j);
        hn::StoreU(hn::Add(hn::LoadU(d, call.g + at + j), hn::Add(q, q_transposed)), d, call.re + at + j);
        hn::StoreU(hn::Sub(q, q_transposed), d, call.im + at + j);
      });
    }
    mirror(t, call.re, 1.0f);
    mirror(t, call.im, -1.0f);
  });
}

void Polynomial(std::int64_t n, const HermitianPolynomial& call) {
  for_each_lower_tile(n, [&](const Tile& t) HWY_ATTR {
    TileBuffer transposed;
    load_mirrored(t, call.q, transposed);
    for (std::int64_t i = 0; i < t.height; ++i) {
      const std::int64_t at = (t.row + i) * n + t.column;
      float *re = call.re + at, *im = call.im + at;
      for_each_vector(t.width, [&](auto d, std::int64_t j) HWY_ATTR {
        const auto c1 = hn::Set(d, call.c1), c2 = hn::Set(d, call.c2);
        const auto q = hn::LoadU(d, call.q + at + j), q_transposed = hn::LoadU(d, transposed.at[i] + j);
        const auto square = hn::Sub(hn::Sub(hn::LoadU(d, call.g + at + j), q), q_transposed);
        hn::StoreU(hn::MulAdd(hn::LoadU(d, re + j), c1, hn::Mul(square, c2)), d, re + j);
        hn::StoreU(hn::MulAdd(hn::LoadU(d, im + j), c1, hn::Mul(hn::Sub(q, q_transposed), c2)), d, im + j);
      });
      if (t.row == t.column) re[i] += call.c0;
    }
    mirror(t, call.re, 1.0f);
    mirror(t, call.im, -1.0f);
  });
}

}  // namespace crope::ops::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace crope::ops::cpu {

HWY_EXPORT(Symmetric);
HWY_EXPORT(Gram);
HWY_EXPORT(Polynomial);

void combine_symmetric(std::int64_t n, float* g, const float* s, float c0, float c1, float c2) {
  HWY_DYNAMIC_DISPATCH(Symmetric)(n, g, s, c0, c1, c2);
}
void combine_hermitian_gram(std::int64_t n, const HermitianGram& call) {
  HWY_DYNAMIC_DISPATCH(Gram)(n, call);
}
void combine_hermitian_polynomial(std::int64_t n, const HermitianPolynomial& call) {
  HWY_DYNAMIC_DISPATCH(Polynomial)(n, call);
}

}  // namespace crope::ops::cpu
#endif
