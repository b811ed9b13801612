#include "crope/ops/cpu/rotary_heads.h"

#include <gtest/gtest.h>

#include <complex>

#include "tests/ops/cpu/kernel_cases.h"

namespace crope::ops::cpu {
namespace {

using test::draw_floats;
using test::on_every_instruction_set;

constexpr float kHeadEps = 1e-6f;

// Rows of T positions with P pairs, with room between the parts, and phases for every position.
struct TestHead {
  TestHead(std::int64_t T, std::int64_t P) : T(T), P(P), stride(2 * P + 5), x(draw_floats("x", T * stride)) {
    gain = draw_floats("gain", 2 * P);
    for (std::int64_t i = 0; i < T * P; ++i) {
      cos.push_back(std::cos(0.37f * static_cast<float>(i)));
      sin.push_back(std::sin(0.37f * static_cast<float>(i)));
    }
  }
  ConstHeadHalves halves() const { return {x.data(), x.data() + P + 2, stride}; }

  // The head's pairs at t, normalised and rotated, in fp64.
  std::vector<std::complex<double>> rotated(const std::vector<float>& from, std::int64_t t, bool norm,
                                            bool turn) const {
    std::vector<std::complex<double>> z;
    double squares = 0;
    for (std::int64_t p = 0; p < P; ++p) {
      z.emplace_back(from[static_cast<std::size_t>(t * stride + p)],
                     from[static_cast<std::size_t>(t * stride + P + 2 + p)]);
      squares += std::norm(z.back());
    }
    const double r = 1 / std::sqrt(squares / static_cast<double>(2 * P) + kHeadEps);
    for (std::int64_t p = 0; p < P; ++p) {
      auto& value = z[static_cast<std::size_t>(p)];
      if (norm) {
        value = {value.real() * r * gain[static_cast<std::size_t>(p)],
                 value.imag() * r * gain[static_cast<std::size_t>(P + p)]};
      }
      const auto phase = static_cast<std::size_t>(t * P + p);
      if (turn) value *= std::complex<double>(cos[phase], sin[phase]);
    }
    return z;
  }

  std::int64_t T, P, stride;
  std::vector<float> x, gain, cos, sin;
};

const std::vector<std::pair<std::int64_t, std::int64_t>> kHeadSizes = {{1, 1}, {3, 5}, {6, 16}, {2, 67}};

TEST(RotaryHeads, NormalisesAndRotates) {
  on_every_instruction_set([] {
    for (const auto& [T, P] : kHeadSizes) {
      const TestHead head(T, P);
      for (const bool norm : {true, false}) {
        for (const bool turn : {true, false}) {
          std::vector<float> out(static_cast<std::size_t>(T * 2 * P));
          rotary_head({.T = T,
                       .P = P,
                       .x = head.halves(),
                       .gain = norm ? head.gain.data() : nullptr,
                       .eps = kHeadEps,
                       .cos = turn ? head.cos.data() : nullptr,
                       .sin = turn ? head.sin.data() : nullptr,
                       .out = out.data()});
          for (std::int64_t t = 0; t < T; ++t) {
            const auto z = head.rotated(head.x, t, norm, turn);
            for (std::int64_t p = 0; p < P; ++p) {
              const auto at = static_cast<std::size_t>(t * 2 * P + p);
              EXPECT_NEAR(out[at], z[static_cast<std::size_t>(p)].real(), 1e-5);
              EXPECT_NEAR(out[at + static_cast<std::size_t>(P)], z[static_cast<std::size_t>(p)].imag(), 1e-5);
            }
          }
        }
      }
    }
  });
}

// Against central differences of the fp64 formula.
TEST(RotaryHeads, BackwardIsTheGradient) {
  on_every_instruction_set([] {
    const std::int64_t T = 3, P = 9;
    const TestHead head(T, P);
    const std::vector<float> grad = draw_floats("grad", T * 2 * P);
    std::vector<float> gx(head.x.size()), grad_gain(static_cast<std::size_t>(2 * P), 0.5f);
    rotary_head_backward({.T = T,
                          .P = P,
                          .x = head.halves(),
                          .gain = head.gain.data(),
                          .eps = kHeadEps,
                          .cos = head.cos.data(),
                          .sin = head.sin.data(),
                          .grad = grad.data(),
                          .gx = {gx.data(), gx.data() + P + 2, head.stride},
                          .grad_gain = grad_gain.data()});
    const auto loss = [&](const TestHead& moved) {
      double sum = 0;
      for (std::int64_t t = 0; t < T; ++t) {
        const auto z = moved.rotated(moved.x, t, true, true);
        for (std::int64_t p = 0; p < P; ++p) {
          const auto at = static_cast<std::size_t>(t * 2 * P + p);
          sum += grad[at] * z[static_cast<std::size_t>(p)].real() +
                 grad[at + static_cast<std::size_t>(P)] * z[static_cast<std::size_t>(p)].imag();
        }
      }
      return sum;
    };
    constexpr float kStep = 1.0f / 256;  // exact in fp32 for numbers of size 1
    const auto slope = [&](auto member, std::size_t i) {
      TestHead above = head, below = head;
      (above.*member)[i] += kStep;
      (below.*member)[i] -= kStep;
      const double width = static_cast<double>((above.*member)[i]) - (below.*member)[i];
      return (loss(above) - loss(below)) / width;
    };
    for (std::int64_t t = 0; t < T; ++t) {
      for (std::int64_t p = 0; p < P; ++p) {
        const auto re = static_cast<std::size_t>(t * head.stride + p), im = re + static_cast<std::size_t>(P + 2);
        EXPECT_NEAR(gx[re], slope(&TestHead::x, re), 2e-4);
        EXPECT_NEAR(gx[im], slope(&TestHead::x, im), 2e-4);
      }
    }
    for (std::size_t i = 0; i < grad_gain.size(); ++i) {
      EXPECT_NEAR(grad_gain[i], 0.5 + slope(&TestHead::gain, i), 2e-4) << "added to what was there";
    }
  });
}

TEST(RotaryHeads, BackToHalvesAndProductsOfRows) {
  on_every_instruction_set([] {
    for (const auto& [T, P] : kHeadSizes) {
      const TestHead head(T, P);
      std::vector<float> rows(static_cast<std::size_t>(T * 2 * P)), back(head.x.size()),
          products(static_cast<std::size_t>(T));
      rotary_head({.T = T,
                   .P = P,
                   .x = head.halves(),
                   .gain = nullptr,
                   .eps = 0,
                   .cos = nullptr,
                   .sin = nullptr,
                   .out = rows.data()});
      head_to_halves(T, P, rows.data(), {back.data(), back.data() + P + 2, head.stride});
      head_row_products(T, P, head.halves(), {back.data(), back.data() + P + 2, head.stride}, products.data());
      for (std::int64_t t = 0; t < T; ++t) {
        double squares = 0;
        for (const auto& z : head.rotated(back, t, false, false)) squares += std::norm(z);
        EXPECT_EQ(head.rotated(back, t, false, false), head.rotated(head.x, t, false, false));
        EXPECT_NEAR(products[static_cast<std::size_t>(t)], squares, 1e-5 * (1 + squares));
      }
    }
  });
}

}  // namespace
}  // namespace crope::ops::cpu
