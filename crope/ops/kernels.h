// The kernels of a device: a struct of arguments for each of them, and the table of all.
//
// Kernels see plain memory, and this header no LibTorch: device.h chooses the table and shows tensors as memory. Sizes
// are those of the operations' headers, which have the mathematics. A kernel uses as many threads as it likes.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <type_traits>

namespace crope::ops {

// Rows in memory, `stride` numbers apart; a vector is one row. Without data where an optional operand is absent.
template <typename Number>
struct MatrixView {
  Number* data = nullptr;
  std::int64_t rows = 0, columns = 0, stride = 0;

  bool defined() const { return data != nullptr; }
  Number* row(std::int64_t r) const { return data + r * stride; }
  MatrixView from_row(std::int64_t first, std::int64_t count) const { return {row(first), count, columns, stride}; }
  operator MatrixView<const Number>() const requires(!std::is_const_v<Number>) { return {data, rows, columns, stride}; }
};
using Matrix = MatrixView<float>;
using ConstMatrix = MatrixView<const float>;
using Doubles = MatrixView<double>;
using ConstIds = MatrixView<const std::int64_t>;

// --- products ---

inline constexpr int kMostTerms = 4;

// first ± others[0] ± …, `count` matrices of one shape and stride. Entry (i, j) of each is data[i * stride + j], or
// data[j * stride + i] when they are to be read transposed.
struct MatrixSum {
  struct Term {
    const float* data = nullptr;
    float sign = 1;
    bool operator==(const Term&) const = default;
  };
  const float* first = nullptr;
  std::array<Term, kMostTerms - 1> others{};
  int count = 1;  // 1, 2 or 4
  std::int64_t stride = 0;
  bool transposed = false;
  bool operator==(const MatrixSum&) const = default;
};

// Where a product goes: added, or written over what is there.
struct ProductTarget {
  float* data = nullptr;
  float sign = 1;
  bool add = false;
};

// Every target[m, n] <- sign a[m, k] b[k, n], plus itself where it is to be added to.
struct SumProduct {
  std::int64_t k = 0;
  MatrixSum a, b;
  std::array<ProductTarget, kMostTerms> targets{};
  int target_count = 1;
};

// Targets are [m, n], rows `stride` floats apart.
struct TargetShape {
  std::int64_t m, n, stride;
  bool operator==(const TargetShape&) const = default;
};

// Products of one shape, one after the other. Targets of two products are the same memory or do not overlap.
struct ProductList {
  TargetShape shape;
  std::span<const SumProduct> products;
};

// --- rows ---

// sum = x + added, or x itself without `added`; y = sum r gain with r = 1/sqrt(mean(sum^2) + eps). x and y may be the
// same memory.
struct RmsNorm {
  ConstMatrix x, added, gain;
  float eps;
  Matrix sum;  // absent where nothing is added
  Matrix y;
  Matrix scale;  // r of each row; may be absent
};

// With u = grad_y gain: grad_x = grad_sum + r (u - sum r mean(u sum r)), and the gradient of the gain is grad_y sum r
// summed over rows: a sum for each of gain_parts.rows pieces of the rows is added to a row of gain_parts.
struct RmsNormBackward {
  ConstMatrix sum, gain, scale, grad_y;
  ConstMatrix grad_sum;  // of the sum from elsewhere; may be absent
  Matrix grad_x;
  Matrix gain_parts;  // [pieces, N]; absent when it is not wanted
};

// y = silu(gate) up. y may be the memory of gate.
struct Swiglu {
  ConstMatrix gate, up;
  Matrix y;
};

struct SwigluBackward {
  ConstMatrix gate, up, grad_y;
  Matrix grad_gate, grad_up;
};

// Each row of logits [R, V] becomes the gradient of its loss, share (softmax - onehot(target)); with share 0 logits
// stay as they are. losses[r] = log(sum(exp(logits))) - logits[target].
struct CrossEntropyRows {
  Matrix logits;
  ConstIds targets;
  float share;
  Doubles losses;
};

// sum[ids[r]] += rows[r], in the order of the rows.
struct AddRows {
  Matrix sum;
  ConstMatrix rows;
  ConstIds ids;
};

// --- attention of whole sequences ---

// The inputs of both passes of rotary_attention.h: q, k and v have B T rows. Query heads h H/G to (h + 1) H/G read head
// h of keys and values.
struct RotaryInputs {
  std::int64_t B, T;
  std::int64_t H, G;   // heads of queries, and of keys and values
  std::int64_t P, Pv;  // complex pairs of a head of q and k, and of v
  ConstMatrix q, k, v;
  ConstMatrix q_gain, k_gain;  // [K], or both absent
  ConstMatrix cos, sin;        // [T, P]
  float scale, eps;

  std::int64_t K() const { return 2 * P; }
  std::int64_t Kv() const { return 2 * Pv; }
  std::int64_t group() const { return H / G; }
};

struct RotaryAttention {
  RotaryInputs in;
  Matrix y;
  Matrix log_sums;  // [B H, T]: log(sum(exp(scale scores))) of each query
};

struct RotaryAttentionBackward {
  RotaryInputs in;
  ConstMatrix y, log_sums, grad_y;
  Matrix grad_q, grad_k, grad_v;
  Matrix q_gain_parts, k_gain_parts;  // [B H, K], [B G, K], added to; absent without gains
};

// --- optimisers; every operand is one row of the same length ---

// The iteration of newton_schulz.h, in place on x[R, C], or on the pair (x, imaginary) where that is there. Rows have
// no gaps.
struct NewtonSchulz {
  Matrix x, imaginary;
  int steps;
  std::array<float, 3> coefficients;
  double eps;
};

// buffer <- momentum buffer + (1 - momentum) grad; update <- (1 - momentum) grad + momentum buffer with Nesterov's
// look-ahead, else buffer.
struct MomentumUpdate {
  float momentum;
  bool nesterov;
  ConstMatrix grad;
  Matrix buffer, update;
};

// value <- keep value - rate direction.
struct DecayAndSubtract {
  Matrix value;
  ConstMatrix direction;
  float keep, rate;
};

// One AdamW step; the bias corrections are folded into `rate` (lr / (1 - beta1^t)) and `second_scale`
// (1 / (1 - beta2^t)).
struct AdamwUpdate {
  float beta1, beta2, eps;
  float keep;  // 1 - lr weight_decay
  float rate, second_scale;
  ConstMatrix grad;
  Matrix value, first, second;
};

// --- inference ---

enum class WeightType {
  fp32,
  bf16,
  int8,
  int4,
  int4_min,  // with a minimum for each block: of models that come in GGUF's Q4_1
};

// The last three: blocks of 32 neighbours in a row, which share a scale (ops/quantised_matrix.h).
constexpr bool is_quantised(WeightType type) {
  return type == WeightType::int8 || type == WeightType::int4 || type == WeightType::int4_min;
}

inline constexpr std::int64_t kQuantisedBlock = 32;

// Bytes of a block of 32 weights. REQUIRES: is_quantised(type).
constexpr std::int64_t quantised_block_bytes(WeightType type) {
  if (type == WeightType::int8) return 34;
  return type == WeightType::int4 ? 18 : 20;
}

// One matrix of a weight, [M, N]: rows without gaps, or quantised in the device's own order.
struct WeightMatrix {
  const void* data = nullptr;
  WeightType type = WeightType::fp32;
  std::int64_t M = 0, N = 0;
};

// A dense weight [out, in], or a pair a, b of [out/2, in/2] (block_linear.h).
struct WeightView {
  WeightMatrix a;
  WeightMatrix b;  // without data in a dense weight

  bool is_pair() const { return b.data != nullptr; }
  std::int64_t in() const { return a.N * (is_pair() ? 2 : 1); }
  std::int64_t out() const { return a.M * (is_pair() ? 2 : 1); }
};

// A matrix rounded to int8 or int4; `to` has quantised_bytes() of room. REQUIRES: the numbers are finite.
struct QuantiseMatrix {
  ConstMatrix from;
  WeightType type;
  void* to;
  // [N], what a squared error in each column costs; null: all the same. Only int4 looks at it.
  const float* column_costs = nullptr;
};

// A quantised matrix as blocks, row after row and without gaps (ops/quantised_matrix.h), put into the device's own
// order at `to`, which has quantised_bytes() of room.
struct PackBlocks {
  const void* blocks;
  WeightType type;
  std::int64_t M, N;
  void* to;
};

// The way back.
struct UnpackBlocks {
  WeightMatrix weight;
  void* blocks;
};

// Rows [first, first + y.rows) of a quantised matrix in fp32.
struct WidenRows {
  WeightMatrix weight;
  std::int64_t first;
  Matrix y;
};

// y[r] = table[ids[r]] in fp32.
struct LookUpRows {
  WeightMatrix table;
  std::span<const std::int32_t> ids;
  Matrix y;
};

enum class Output { overwrite, add };

// y = weight(x), or y += weight(x), of a few rows for each of several weights: reads every weight once for all rows.
// The result of a row does not depend on how many rows there are.
struct LinearRows {
  struct Map {
    WeightView weight;
    Matrix y;
  };
  ConstMatrix x;
  std::span<const Map> maps;
  Output output = Output::overwrite;
};

// gated = silu(gate(x)) up(x) of a few rows; up_rows is working memory of the same shape.
struct GatedLinearRows {
  ConstMatrix x;
  WeightView gate, up;
  Matrix gated, up_rows;
};

// One token of a sequence: its position, and where its keys and values go, a row for each of their heads.
struct CachePlace {
  std::int64_t position;
  Matrix keys, values;  // [G, K], [G, Kv]
};

// Row r of q, k and v, in halves, belongs to places[r]: its queries, normalised and turned to the position, go to
// rotated [R, H K], a head after the other; so do the keys to the place's; values go there as they are.
struct RotaryRows {
  std::int64_t H, G;  // heads of q; of k and v
  ConstMatrix q, k, v;
  ConstMatrix q_gain, k_gain;  // [K], or absent: not normalised
  float eps;
  ConstMatrix cos, sin;  // [positions, K/2]
  std::span<const CachePlace> places;
  Matrix rotated;
};

// Keys [length, K] and values [length, Kv] of head 0 of a stretch of a sequence; those of the next head begin `room`
// rows further on.
struct CachePart {
  ConstMatrix keys, values;
  std::int64_t room;
};

// Queries of rows [row, row + count): the first sees `visible` keys, each further one sees one more. The parts have
// that many keys together.
struct QueryTile {
  std::int64_t row, count, visible;
  std::span<const CachePart> parts;
};
inline constexpr std::int64_t kMostTileRows = 8;

// Softmax attention of tiles of queries [R, H K] over cached keys and values of G heads: out[R, H Kv] in halves. Query
// head h reads head h / (H/G).
struct CachedAttention {
  std::int64_t H, G;
  float scale;
  ConstMatrix queries;
  std::span<const QueryTile> tiles;  // count at most kMostTileRows; the longest first
  Matrix out;
};

struct RowMaximum {
  std::int64_t index = 0;  // of the first largest value
  float value = 0;
  double log_sum_exp = 0;  // over the row
};

// The maximum of every row of logits [R, N], N > 0. Values that are not numbers are passed over in the maximum.
struct RowMaxima {
  ConstMatrix logits;
  std::span<RowMaximum> maxima;
};

// --- the table ---

// Where a slot is null, the operation makes do with ATen's own.
struct Kernels {
  void (*multiply)(const ProductList&) = nullptr;
  // Complex inputs or outputs that a tied layer has at least where multiply() is faster with Gauss's three products
  // than with one of the expanded matrix.
  std::int64_t (*least_gauss_pairs)() = nullptr;
  void (*rms_norm)(const RmsNorm&) = nullptr;
  void (*rms_norm_backward)(const RmsNormBackward&) = nullptr;
  void (*swiglu)(const Swiglu&) = nullptr;
  void (*swiglu_backward)(const SwigluBackward&) = nullptr;
  void (*cross_entropy_rows)(const CrossEntropyRows&) = nullptr;
  void (*add_rows)(const AddRows&) = nullptr;
  void (*rotary_attention)(const RotaryAttention&) = nullptr;
  void (*rotary_attention_backward)(const RotaryAttentionBackward&) = nullptr;
  void (*newton_schulz)(const NewtonSchulz&) = nullptr;
  void (*momentum_update)(const MomentumUpdate&) = nullptr;
  void (*decay_and_subtract)(const DecayAndSubtract&) = nullptr;
  void (*adamw_update)(const AdamwUpdate&) = nullptr;
  double (*sum_of_squares)(const ConstMatrix&) = nullptr;
  // Inference needs all of these, and rms_norm.
  std::int64_t (*quantised_bytes)(WeightType type, std::int64_t M, std::int64_t N) = nullptr;
  void (*quantise_matrix)(const QuantiseMatrix&) = nullptr;
  void (*pack_blocks)(const PackBlocks&) = nullptr;
  void (*unpack_blocks)(const UnpackBlocks&) = nullptr;
  void (*widen_rows)(const WidenRows&) = nullptr;
  void (*look_up_rows)(const LookUpRows&) = nullptr;
  void (*linear_rows)(const LinearRows&) = nullptr;
  void (*gated_linear_rows)(const GatedLinearRows&) = nullptr;
  bool (*prefers_integer_products)() = nullptr;  // whether linear_rows is fast for many rows of quantised weights too
  void (*rotary_rows)(const RotaryRows&) = nullptr;
  void (*cached_attention)(const CachedAttention&) = nullptr;
  void (*row_maxima)(const RowMaxima&) = nullptr;
};

}  // namespace crope::ops
