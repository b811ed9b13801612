#include "crope/ops/cpu/softmax_rows.h"

#include <gtest/gtest.h>

#include "tests/ops/cpu/kernel_cases.h"

namespace crope::ops::cpu {
namespace {

using test::draw_floats;
using test::on_every_instruction_set;

constexpr float kSoftmaxScale = 0.3f;

struct SoftmaxCase {
  std::int64_t rows, columns, first;
};
const std::vector<SoftmaxCase> kSoftmaxCases = {{1, 1, 0}, {3, 5, 2}, {8, 40, 32}, {4, 100, 7}, {2, 33, 50}};

// What a row sees, exactly.
std::vector<double> probabilities(const SoftmaxCase& c, const std::vector<float>& scores, std::int64_t row,
                                  double& log_sum) {
  std::vector<double> p;
  double total = 0;
  for (std::int64_t j = 0; j < std::min(c.columns, c.first + row + 1); ++j) {
    p.push_back(
        std::exp(static_cast<double>(kSoftmaxScale) * scores[static_cast<std::size_t>(row * (c.columns + 2) + j)]));
    total += p.back();
  }
  for (double& value : p) value /= total;
  log_sum = std::log(total);
  return p;
}

TEST(SoftmaxRows, EachRowSeesOneColumnMore) {
  on_every_instruction_set([] {
    for (const SoftmaxCase& c : kSoftmaxCases) {
      const std::int64_t stride = c.columns + 2;
      const std::vector<float> before = draw_floats("scores", c.rows * stride);
      std::vector<float> scores = before, log_sums(static_cast<std::size_t>(c.rows));
      const AttentionSoftmax call{.rows = c.rows,
                                  .columns = c.columns,
                                  .stride = stride,
                                  .first = c.first,
                                  .scale = kSoftmaxScale,
                                  .scores = scores.data(),
                                  .log_sums = log_sums.data()};
      attention_softmax(call);
      for (std::int64_t r = 0; r < c.rows; ++r) {
        double log_sum = 0;
        const std::vector<double> p = probabilities(c, before, r, log_sum);
        EXPECT_NEAR(log_sums[static_cast<std::size_t>(r)], log_sum, 1e-5);
        for (std::int64_t j = 0; j < stride; ++j) {
          const auto at = static_cast<std::size_t>(r * stride + j);
          if (j >= c.columns) {
            EXPECT_EQ(scores[at], before[at]) << "behind the columns";
          } else {
            EXPECT_NEAR(scores[at], static_cast<std::size_t>(j) < p.size() ? p[static_cast<std::size_t>(j)] : 0, 1e-6);
          }
        }
      }
      std::vector<float> again = before;
      AttentionSoftmax without_sums = call;
      without_sums.scores = again.data();
      without_sums.log_sums = nullptr;
      attention_softmax(without_sums);
      EXPECT_EQ(again, scores);
    }
  });
}

TEST(SoftmaxRows, BackwardIsTheGradient) {
  on_every_instruction_set([] {
    for (const SoftmaxCase& c : kSoftmaxCases) {
      const std::int64_t stride = c.columns + 2;
      const std::vector<float> before = draw_floats("scores", c.rows * stride),
                               upstream = draw_floats("g", c.rows * stride);
      std::vector<float> scores = before, grad = upstream, log_sums, delta;
      std::vector<std::vector<double>> p;
      for (std::int64_t r = 0; r < c.rows; ++r) {
        double log_sum = 0, dot = 0;
        p.push_back(probabilities(c, before, r, log_sum));
        for (std::size_t j = 0; j < p.back().size(); ++j) {
          dot += p.back()[j] * upstream[static_cast<std::size_t>(r * stride) + j];
        }
        log_sums.push_back(static_cast<float>(log_sum));
        delta.push_back(static_cast<float>(dot));
      }
      attention_softmax_backward({.rows = c.rows,
                                  .columns = c.columns,
                                  .stride = stride,
                                  .first = c.first,
                                  .scale = kSoftmaxScale,
                                  .scores = scores.data(),
                                  .log_sums = log_sums.data(),
                                  .grad = grad.data(),
                                  .delta = delta.data()});
      for (std::int64_t r = 0; r < c.rows; ++r) {
        for (std::int64_t j = 0; j < c.columns; ++j) {
          const auto at = static_cast<std::size_t>(r * stride + j);
          const auto& row = p[static_cast<std::size_t>(r)];
          const double value = static_cast<std::size_t>(j) < row.size() ? row[static_cast<std::size_t>(j)] : 0;
          EXPECT_NEAR(scores[at], value, 1e-6);
          EXPECT_NEAR(grad[at], kSoftmaxScale * value * (upstream[at] - delta[static_cast<std::size_t>(r)]), 1e-6);
        }
      }
    }
  });
}

}  // namespace
}  // namespace crope::ops::cpu
