#include "crope/ops/cpu/quantised_product.h"

#include <algorithm>
#include <array>
#include <atomic>
#include <cmath>
#include <cstring>
#include <span>
#include <vector>

#include "crope/base/half.h"
#include "crope/ops/cpu/kernels.h"
#include "crope/ops/cpu/quantised_weight.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "crope/ops/cpu/quantised_product.cc"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#if HWY_ARCH_X86
#include <cpuid.h>
#endif

HWY_BEFORE_NAMESPACE();
namespace crope::ops::cpu::HWY_NAMESPACE {

// What the loop over a panel needs of an instruction set. A panel's sixteen rows are the lanes of Integers and Floats.
//   start(offset)           sums that begin with `offset`
//   signed_bytes(from)      64 signed weights, four columns of each row
//   low_halves, high_halves of 64 bytes, as weights from 0 to 15
//   add_signed(s, w, x), add_unsigned(s, w, x)   s + the four products of each row with x[0..3]
//   kSignedOffset           what signed_bytes adds to every weight
//   kMostColumns            how many columns of sums the registers hold

#if HWY_TARGET == HWY_AVX3 || HWY_TARGET == HWY_AVX2

HWY_INLINE __m256i four_bytes(const std::int8_t* x) {
  std::int32_t bits;
  std::memcpy(&bits, x, sizeof(bits));
  return _mm256_set1_epi32(bits);
}

// Two vectors of eight rows.
struct Pair256 {
  __m256i low, high;
};
struct Floats256 {
  __m256 low, high;
};

// Without VNNI: products of bytes in pairs, then of the pairs. No pair overflows 16 bits: one factor is at most 128,
// the other 127.
struct Avx2Dot {
  using Integers = Pair256;
  using Weights = Pair256;
  using Floats = Floats256;
  static constexpr std::int32_t kSignedOffset = 0;
  static constexpr int kMostColumns = 4;

  static HWY_INLINE Integers start(std::int32_t offset) {
    return {_mm256_set1_epi32(offset), _mm256_set1_epi32(offset)};
  }
  static HWY_INLINE Weights signed_bytes(const std::uint8_t* from) {
    const auto* at = reinterpret_cast<const __m256i*>(from);
    return {_mm256_loadu_si256(at), _mm256_loadu_si256(at + 1)};
  }
  static HWY_INLINE Weights low_halves(const std::uint8_t* from) {
    const Weights raw = signed_bytes(from);
    const __m256i mask = _mm256_set1_epi8(15);
    return {_mm256_and_si256(raw.low, mask), _mm256_and_si256(raw.high, mask)};
  }
  static HWY_INLINE Weights high_halves(const std::uint8_t* from) {
    const Weights raw = signed_bytes(from);
    const __m256i mask = _mm256_set1_epi8(15);
    return {_mm256_and_si256(_mm256_srli_epi16(raw.low, 4), mask),
            _mm256_and_si256(_mm256_srli_epi16(raw.high, 4), mask)};
  }
  static HWY_INLINE __m256i add_products(__m256i sum, __m256i unsigned_bytes, __m256i signed_bytes) {
    const __m256i pairs = _mm256_maddubs_epi16(unsigned_bytes, signed_bytes);
    return _mm256_add_epi32(sum, _mm256_madd_epi16(pairs, _mm256_set1_epi16(1)));
  }
  static HWY_INLINE Integers add_signed(const Integers& s, const Weights& w, const std::int8_t* x) {
    const __m256i four = four_bytes(x);
    return {add_products(s.low, _mm256_abs_epi8(w.low), _mm256_sign_epi8(four, w.low)),
            add_products(s.high, _mm256_abs_epi8(w.high), _mm256_sign_epi8(four, w.high))};
  }
  static HWY_INLINE Integers add_unsigned(const Integers& s, const Weights& w, const std::int8_t* x) {
    const __m256i four = four_bytes(x);
    return {add_products(s.low, w.low, four), add_products(s.high, w.high, four)};
  }
  static HWY_INLINE Floats zero() { return {_mm256_setzero_ps(), _mm256_setzero_ps()}; }
  static HWY_INLINE Floats load_scales(const std::uint8_t* from) {
    const auto* at = reinterpret_cast<const __m128i*>(from);
    return {_mm256_cvtph_ps(_mm_loadu_si128(at)), _mm256_cvtph_ps(_mm_loadu_si128(at + 1))};
  }
  static HWY_INLINE Floats add_scaled(const Floats& sum, const Integers& s, const Floats& scales, float x_scale) {
    const __m256 factor = _mm256_set1_ps(x_scale);
    return {_mm256_fmadd_ps(_mm256_cvtepi32_ps(s.low), _mm256_mul_ps(scales.low, factor), sum.low),
            _mm256_fmadd_ps(_mm256_cvtepi32_ps(s.high), _mm256_mul_ps(scales.high, factor), sum.high)};
  }
  static HWY_INLINE void store(const Floats& sum, float* out) {
    _mm256_storeu_ps(out, sum.low);
    _mm256_storeu_ps(out + 8, sum.high);
  }
};
using PlainDot = Avx2Dot;

#endif

#if HWY_TARGET == HWY_AVX3

// The instruction by name: the compiler is told of AVX-512's base only, and byte_products_available() asks the machine.
struct ByteDot {
  using Integers = __m512i;
  using Weights = __m512i;
  using Floats = __m512;
  static constexpr std::int32_t kSignedOffset = 128;
  static constexpr int kMostColumns = 8;

  static HWY_INLINE Integers start(std::int32_t offset) { return _mm512_set1_epi32(offset); }
  static HWY_INLINE Weights signed_bytes(const std::uint8_t* from) {
    return _mm512_xor_si512(_mm512_loadu_si512(from), _mm512_set1_epi8(-128));
  }
  static HWY_INLINE Weights low_halves(const std::uint8_t* from) {
    return _mm512_and_si512(_mm512_loadu_si512(from), _mm512_set1_epi8(15));
  }
  static HWY_INLINE Weights high_halves(const std::uint8_t* from) {
    return _mm512_and_si512(_mm512_srli_epi16(_mm512_loadu_si512(from), 4), _mm512_set1_epi8(15));
  }
  static HWY_INLINE Integers add_unsigned(Integers s, Weights w, const std::int8_t* x) {
    std::int32_t bits;
    std::memcpy(&bits, x, sizeof(bits));
    asm("vpdpbusd %2, %1, %0" : "+v"(s) : "v"(w), "v"(_mm512_set1_epi32(bits)));
    return s;
  }
  static HWY_INLINE Integers add_signed(Integers s, Weights w, const std::int8_t* x) { return add_unsigned(s, w, x); }
  static HWY_INLINE Floats zero() { return _mm512_setzero_ps(); }
  static HWY_INLINE Floats load_scales(const std::uint8_t* from) {
    return _mm512_cvtph_ps(_mm256_loadu_si256(reinterpret_cast<const __m256i*>(from)));
  }
  static HWY_INLINE Floats add_scaled(Floats sum, Integers s, Floats scales, float x_scale) {
    return _mm512_fmadd_ps(_mm512_cvtepi32_ps(s), _mm512_mul_ps(scales, _mm512_set1_ps(x_scale)), sum);
  }
  static HWY_INLINE void store(Floats sum, float* out) { _mm512_storeu_ps(out, sum); }
};

#elif HWY_TARGET == HWY_AVX2

// The same on vectors of 256 bits (AVX-VNNI).
struct ByteDot : Avx2Dot {
  static constexpr std::int32_t kSignedOffset = 128;

  static HWY_INLINE Weights signed_bytes(const std::uint8_t* from) {
    const Weights raw = Avx2Dot::signed_bytes(from);
    const __m256i top = _mm256_set1_epi8(-128);
    return {_mm256_xor_si256(raw.low, top), _mm256_xor_si256(raw.high, top)};
  }
  static HWY_INLINE Integers add_unsigned(Integers s, const Weights& w, const std::int8_t* x) {
    const __m256i four = four_bytes(x);
    asm("%{vex%} vpdpbusd %2, %1, %0" : "+x"(s.low) : "x"(w.low), "x"(four));
    asm("%{vex%} vpdpbusd %2, %1, %0" : "+x"(s.high) : "x"(w.high), "x"(four));
    return s;
  }
  static HWY_INLINE Integers add_signed(const Integers& s, const Weights& w, const std::int8_t* x) {
    return add_unsigned(s, w, x);
  }
};

#elif HWY_TARGET != HWY_AVX3

struct PlainDot {
  using Integers = std::array<std::int32_t, kPanelRows>;
  using Weights = std::array<std::int32_t, 4 * kPanelRows>;
  using Floats = std::array<float, kPanelRows>;
  static constexpr std::int32_t kSignedOffset = 0;
  static constexpr int kMostColumns = 4;

  static Integers start(std::int32_t offset) {
    Integers sums;
    sums.fill(offset);
    return sums;
  }
  template <typename Of>
  static Weights each(const std::uint8_t* from, const Of& of) {
    Weights weights;
    for (std::size_t i = 0; i < weights.size(); ++i) weights[i] = of(from[i]);
    return weights;
  }
  static Weights signed_bytes(const std::uint8_t* from) {
    return each(from, [](std::uint8_t byte) { return static_cast<std::int8_t>(byte); });
  }
  static Weights low_halves(const std::uint8_t* from) {
    return each(from, [](std::uint8_t byte) { return byte & 15; });
  }
  static Weights high_halves(const std::uint8_t* from) {
    return each(from, [](std::uint8_t byte) { return byte >> 4; });
  }
  static Integers add_unsigned(Integers s, const Weights& w, const std::int8_t* x) {
    for (std::size_t i = 0; i < w.size(); ++i) s[i / 4] += w[i] * x[i % 4];
    return s;
  }
  static Integers add_signed(const Integers& s, const Weights& w, const std::int8_t* x) {
    return add_unsigned(s, w, x);
  }
  static Floats zero() { return {}; }
  static Floats load_scales(const std::uint8_t* from) {
    Floats scales;
    for (std::size_t i = 0; i < scales.size(); ++i) {
      std::uint16_t half;
      std::memcpy(&half, from + 2 * i, sizeof(half));
      scales[i] = half_to_float(half);
    }
    return scales;
  }
  static Floats add_scaled(Floats sum, const Integers& s, const Floats& scales, float x_scale) {
    for (std::size_t i = 0; i < sum.size(); ++i) {
      sum[i] = std::fma(static_cast<float>(s[i]), scales[i] * x_scale, sum[i]);
    }
    return sum;
  }
  static void store(const Floats& sum, float* out) { std::ranges::copy(sum, out); }
};
using ByteDot = PlainDot;

#endif

// out[c * 16 + row] of one panel and kColumns columns. The loops over columns are unrolled, or the compiler keeps the
// sums in memory.
template <class Dot, int kColumns>
HWY_INLINE void multiply_panel(const std::uint8_t* panel, WeightType type, std::int64_t blocks,
                               const QuantisedColumn* columns, float* out) {
  typename Dot::Floats sums[kColumns];
#pragma GCC unroll 8
  for (int c = 0; c < kColumns; ++c) sums[c] = Dot::zero();
  const std::int64_t bytes = panel_block_bytes(type), head = panel_head_bytes(type);
  const std::int32_t offset = type == WeightType::int8 ? Dot::kSignedOffset : type == WeightType::int4 ? 8 : 0;
  for (std::int64_t b = 0; b < blocks; ++b, panel += bytes) {
    const typename Dot::Floats scales = Dot::load_scales(panel);
    const std::uint8_t* integers = panel + head;
    typename Dot::Integers s[kColumns];
#pragma GCC unroll 8
    for (int c = 0; c < kColumns; ++c) s[c] = Dot::start(-offset * columns[c].sums[b]);
    if (type == WeightType::int8) {
#pragma GCC unroll 8
      for (std::int64_t g = 0; g < 8; ++g) {
        const typename Dot::Weights w = Dot::signed_bytes(integers + 64 * g);
#pragma GCC unroll 8
        for (int c = 0; c < kColumns; ++c)
          s[c] = Dot::add_signed(s[c], w, columns[c].values + kBlockColumns * b + 4 * g);
      }
    } else {
#pragma GCC unroll 4
      for (std::int64_t g = 0; g < 4; ++g) {
        const typename Dot::Weights low = Dot::low_halves(integers + 64 * g),
                                    high = Dot::high_halves(integers + 64 * g);
#pragma GCC unroll 8
        for (int c = 0; c < kColumns; ++c) {
          const std::int8_t* x = columns[c].values + kBlockColumns * b + 4 * g;
          s[c] = Dot::add_unsigned(Dot::add_unsigned(s[c], low, x), high, x + 16);
        }
      }
    }
#pragma GCC unroll 8
    for (int c = 0; c < kColumns; ++c) sums[c] = Dot::add_scaled(sums[c], s[c], scales, columns[c].scales[b]);
    if (type != WeightType::int4_min) continue;
    const typename Dot::Floats minima = Dot::load_scales(panel + kScaleBytes);
#pragma GCC unroll 8
    for (int c = 0; c < kColumns; ++c) {
      sums[c] = Dot::add_scaled(sums[c], Dot::start(columns[c].sums[b]), minima, columns[c].scales[b]);
    }
  }
#pragma GCC unroll 8
  for (int c = 0; c < kColumns; ++c) Dot::store(sums[c], out + c * kPanelRows);
}

template <class Dot>
void multiply_columns(const std::uint8_t* panel, WeightType type, std::int64_t blocks, const QuantisedColumn* columns,
                      std::int64_t count, float* out) {
  const auto take = [&]<int kColumns> {
    for (; count >= kColumns; count -= kColumns, columns += kColumns, out += kColumns * kPanelRows) {
      multiply_panel<Dot, kColumns>(panel, type, blocks, columns, out);
    }
  };
  if constexpr (Dot::kMostColumns >= 8) take.template operator()<8>();
  take.template operator()<4>();
  take.template operator()<2>();
  take.template operator()<1>();
}

// Whether the machine has the instruction that this instruction set's ByteDot names.
bool HasByteProducts() {
#if HWY_TARGET == HWY_AVX3
  static const bool has = __builtin_cpu_supports("avx512vnni");
  return has;
#elif HWY_TARGET == HWY_AVX2
  static const bool has = [] {
    unsigned eax = 0, ebx = 0, ecx = 0, edx = 0;
    return __get_cpuid_count(7, 1, &eax, &ebx, &ecx, &edx) != 0 && (eax & (1u << 4)) != 0;
  }();
  return has;
#else
  return false;
#endif
}

// Sums of a panel with every column: out[count][16].
void MultiplyPanel(const std::uint8_t* panel, WeightType type, std::int64_t blocks, const QuantisedColumn* columns,
                   std::int64_t count, bool byte_products, float* out) {
  if (byte_products && HasByteProducts()) {
    multiply_columns<ByteDot>(panel, type, blocks, columns, count, out);
  } else {
    multiply_columns<PlainDot>(panel, type, blocks, columns, count, out);
  }
}

}  // namespace crope::ops::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace crope::ops::cpu {
namespace {

HWY_EXPORT(HasByteProducts);
HWY_EXPORT(MultiplyPanel);

std::atomic<bool> byte_products_wanted = true;

// y[first + i] = sums[i] of the rows of a panel, or y[first + i] += sums[i].
void store_panel(const float* sums, std::int64_t panel, std::int64_t M, float* y, Output output) {
  const std::int64_t first = panel * kPanelRows, count = std::min(kPanelRows, M - first);
  for (std::int64_t i = 0; i < count; ++i) y[first + i] = sums[i] + (output == Output::add ? y[first + i] : 0);
}

// Sums of one panel with all columns, sums[columns][16].
void panel_sums(const WeightMatrix& weight, std::span<const QuantisedColumn> columns, std::int64_t panel, float* sums) {
  const auto* data = static_cast<const std::uint8_t*>(weight.data) + panel * panel_bytes(weight.type, weight.N);
  HWY_DYNAMIC_DISPATCH(MultiplyPanel)
  (data, weight.type, blocks_of(weight.N), columns.data(), static_cast<std::int64_t>(columns.size()),
   byte_products_wanted, sums);
}

std::vector<QuantisedColumn> all_columns(const QuantisedColumns& x) {
  std::vector<QuantisedColumn> columns;
  for (std::int64_t i = 0; i < x.count(); ++i) columns.push_back(x.column(i));
  return columns;
}

}  // namespace

void quantised_product(const QuantisedColumns& x, const WeightMatrix& weight, std::int64_t begin, std::int64_t end,
                       const Matrix& y, Output output) {
  const std::vector<QuantisedColumn> columns = all_columns(x);
  std::vector<float> sums(columns.size() * kPanelRows);
  for (std::int64_t panel = begin; panel < end; ++panel) {
    panel_sums(weight, columns, panel, sums.data());
    for (std::int64_t r = 0; r < y.rows; ++r) {
      store_panel(sums.data() + r * kPanelRows, panel, weight.M, y.row(r), output);
    }
  }
}

void quantised_complex_product(const QuantisedColumns& x, const WeightMatrix& a, const WeightMatrix& b,
                               std::int64_t begin, std::int64_t end, const Matrix& y, Output output) {
  const std::vector<QuantisedColumn> columns = all_columns(x);
  std::vector<float> sums_a(columns.size() * kPanelRows), sums_b(columns.size() * kPanelRows);
  for (std::int64_t panel = begin; panel < end; ++panel) {
    panel_sums(a, columns, panel, sums_a.data());
    panel_sums(b, columns, panel, sums_b.data());
    for (std::int64_t r = 0; r < y.rows; ++r) {
      // Sums with the real and with the imaginary piece of the row.
      float *re = sums_a.data() + 2 * r * kPanelRows, *im = re + kPanelRows;
      const float *b_re = sums_b.data() + 2 * r * kPanelRows, *b_im = b_re + kPanelRows;
      for (std::int64_t i = 0; i < kPanelRows; ++i) {
        re[i] += b_im[i];
        im[i] -= b_re[i];
      }
      store_panel(re, panel, a.M, y.row(r), output);
      store_panel(im, panel, a.M, y.row(r) + a.M, output);
    }
  }
}

bool byte_products_available() {
  return HWY_DYNAMIC_DISPATCH(HasByteProducts)();
}

void use_byte_products(bool use) {
  byte_products_wanted = use;
}

bool prefers_integer_products() {
  return byte_products_wanted && byte_products_available();
}

}  // namespace crope::ops::cpu
#endif
