#include "crope/ops/cpu/row_kernels.h"

#include <gtest/gtest.h>

#include "tests/ops/cpu/kernel_cases.h"

namespace crope::ops::cpu {
namespace {

using test::draw_floats;
using test::on_every_instruction_set;

const std::vector<std::int64_t> kSizes = {2, 4, 6, 8, 10, 16, 30, 64, 100, 128, 1024};

TEST(RowKernels, Normalise) {
  on_every_instruction_set([] {
    for (const std::int64_t N : kSizes) {
      const std::vector<float> x = draw_floats("x", N), gain = draw_floats("gain", N);
      std::vector<float> y(x.size());
      normalise_row(x.data(), gain.data(), 1e-5f, N, y.data());
      double squares = 0;
      for (const float value : x) squares += static_cast<double>(value) * value;
      const double scale = 1 / std::sqrt(squares / static_cast<double>(N) + 1e-5);
      for (std::size_t i = 0; i < x.size(); ++i) EXPECT_NEAR(y[i], x[i] * scale * gain[i], 2e-6 * (1 + std::abs(y[i])));
    }
  });
}

TEST(RowKernels, Gate) {
  on_every_instruction_set([] {
    for (const std::int64_t N : kSizes) {
      std::vector<float> gate = draw_floats("gate", N);
      const std::vector<float> up = draw_floats("up", N);
      gate[0] = -120;  // exp(120) is no float
      gate[1] = 120;
      const std::vector<float> before = gate;
      gate_row(gate.data(), up.data(), N);
      for (std::size_t i = 0; i < gate.size(); ++i) {
        const double x = before[i];
        EXPECT_NEAR(gate[i], x / (1 + std::exp(-x)) * up[i], 1e-5 * (1 + std::abs(x))) << i;
      }
    }
  });
}

TEST(RowKernels, RotateHead) {
  on_every_instruction_set([] {
    for (const std::int64_t K : kSizes) {
      const std::int64_t half = K / 2;
      const std::vector<float> re = draw_floats("re", half), im = draw_floats("im", half),
                               gain = draw_floats("gain", K);
      std::vector<float> cos, sin;
      for (std::int64_t j = 0; j < half; ++j) {
        cos.push_back(std::cos(0.3f * static_cast<float>(j)));
        sin.push_back(std::sin(0.3f * static_cast<float>(j)));
      }
      for (const bool with_gain : {true, false}) {
        std::vector<float> out(static_cast<std::size_t>(K));
        rotate_head(re.data(), im.data(), with_gain ? gain.data() : nullptr, 1e-6f, cos.data(), sin.data(), K,
                    out.data());
        double squares = 0;
        for (std::size_t j = 0; j < re.size(); ++j) squares += double(re[j]) * re[j] + double(im[j]) * im[j];
        const double scale = with_gain ? 1 / std::sqrt(squares / static_cast<double>(K) + 1e-6) : 1;
        for (std::size_t j = 0; j < re.size(); ++j) {
          const double x = re[j] * scale * (with_gain ? gain[j] : 1);
          const double y = im[j] * scale * (with_gain ? gain[re.size() + j] : 1);
          EXPECT_NEAR(out[j], x * cos[j] - y * sin[j], 1e-5);
          EXPECT_NEAR(out[re.size() + j], x * sin[j] + y * cos[j], 1e-5);
        }
      }
    }
  });
}

TEST(RowKernels, MaximumAndLogSumExp) {
  on_every_instruction_set([] {
    for (const std::int64_t N : {1, 2, 7, 8, 9, 100, 1024, 1025, 5003}) {
      std::vector<float> x = draw_floats("logits", N);
      for (float& value : x) value *= 5;
      const RowMaximum result = row_maximum(x.data(), N);
      std::size_t best = 0;
      double sum = 0;
      for (std::size_t i = 0; i < x.size(); ++i) best = x[i] > x[best] ? i : best;
      for (const float value : x) sum += std::exp(static_cast<double>(value) - x[best]);
      EXPECT_EQ(result.index, static_cast<std::int64_t>(best));
      EXPECT_EQ(result.value, x[best]);
      EXPECT_NEAR(result.log_sum_exp, x[best] + std::log(sum), 1e-6 * std::abs(x[best]) + 1e-6);
    }
    const std::vector<float> twice = {1, 9, 3, 9, 0, 0, 0, 0, 9, 9};
    EXPECT_EQ(row_maximum(twice.data(), 10).index, 1);
    std::vector<float> far(40, -1000.0f);
    far[17] = 1000;
    EXPECT_NEAR(row_maximum(far.data(), 40).log_sum_exp, 1000, 1e-9);
    far[3] = NAN;
    EXPECT_EQ(row_maximum(far.data(), 40).index, 17);
  });
}

}  // namespace
}  // namespace crope::ops::cpu
