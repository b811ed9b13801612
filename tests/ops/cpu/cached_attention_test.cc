#include "crope/ops/cpu/cached_attention.h"

#include <gtest/gtest.h>

#include "tests/ops/cpu/kernel_cases.h"

namespace crope::ops::cpu {
namespace {

using test::draw_floats;
using test::on_every_instruction_set;

struct Case {
  std::int64_t rows, visible, K, Kv;
  std::vector<std::int64_t> parts;  // lengths; together at least visible + rows - 1
};

void check(const Case& c) {
  const std::int64_t query_stride = c.K + 5, half = c.Kv / 2, out_half = half + 3, out_stride = 2 * c.Kv + 7;
  const std::vector<float> q = draw_floats("q", c.rows * query_stride);
  std::vector<std::vector<float>> keys, values;
  std::vector<KeyValuePart> parts;
  std::vector<const float*> key_rows, value_rows;
  for (const std::int64_t length : c.parts) {
    keys.push_back(draw_floats("k" + std::to_string(keys.size()), length * c.K));
    values.push_back(draw_floats("v" + std::to_string(values.size()), length * c.Kv));
    parts.push_back({keys.back().data(), values.back().data(), length});
    for (std::int64_t t = 0; t < length; ++t) {
      key_rows.push_back(keys.back().data() + t * c.K);
      value_rows.push_back(values.back().data() + t * c.Kv);
    }
  }
  std::vector<float> out(static_cast<std::size_t>(c.rows * out_stride));
  std::vector<float> scores(static_cast<std::size_t>(c.rows * (c.visible + c.rows - 1)));
  attend({.queries = q.data(),
          .query_stride = query_stride,
          .rows = c.rows,
          .visible = c.visible,
          .K = c.K,
          .Kv = c.Kv,
          .scale = 0.3f,
          .out = out.data(),
          .out_half = out_half,
          .out_stride = out_stride},
         parts, scores.data());
  for (std::int64_t r = 0; r < c.rows; ++r) {
    std::vector<double> weights;
    double total = 0;
    for (std::int64_t t = 0; t < c.visible + r; ++t) {
      double score = 0;
      for (std::int64_t j = 0; j < c.K; ++j) {
        score += static_cast<double>(q[static_cast<std::size_t>(r * query_stride + j)]) *
                 key_rows[static_cast<std::size_t>(t)][j];
      }
      weights.push_back(std::exp(0.3 * score));
      total += weights.back();
    }
    for (std::int64_t j = 0; j < c.Kv; ++j) {
      double expected = 0;
      for (std::size_t t = 0; t < weights.size(); ++t) expected += weights[t] / total * value_rows[t][j];
      const std::int64_t place = r * out_stride + (j < half ? j : out_half + j - half);
      EXPECT_NEAR(out[static_cast<std::size_t>(place)], expected, 2e-5)
          << "rows " << c.rows << " visible " << c.visible << " K " << c.K << " Kv " << c.Kv << " at " << r << ", "
          << j;
    }
  }
}

TEST(CachedAttention, SoftmaxOverPartsOfOddSizes) {
  on_every_instruction_set([] {
    for (const Case& c : std::vector<Case>{{1, 1, 2, 2, {1}},
                                           {1, 9, 8, 8, {4, 5}},
                                           {1, 100, 128, 128, {37, 63}},
                                           {1, 40, 64, 128, {50}},
                                           {2, 3, 6, 10, {1, 1, 2}},
                                           {3, 1, 12, 12, {3}},
                                           {4, 17, 16, 48, {8, 30}},
                                           {5, 6, 34, 18, {10}},
                                           {7, 20, 128, 64, {1, 40}},
                                           {8, 1, 128, 128, {8}},
                                           {8, 57, 24, 20, {16, 16, 16, 16}}}) {
      check(c);
    }
  });
}

}  // namespace
}  // namespace crope::ops::cpu
