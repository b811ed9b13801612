#include "crope/interop/ggml_blocks.h"

#include <cstring>

#include "tests/tensor_checks.h"

namespace crope::interop {
namespace {

using formats::GgmlType;
using torch::Tensor;

Tensor through_bytes(const Tensor& values, GgmlType type) {
  const Tensor bytes = encode_ggml(values, type).clone();
  return decode_ggml({"t", type, values.sizes().vec(), {static_cast<std::byte*>(bytes.data_ptr()), bytes.nbytes()}},
                     "test");
}

TEST(GgmlBlocks, PlainTypesRoundOnce) {
  const Tensor values = test::random_tensor({3, 64}, torch::kFloat32);
  EXPECT_TRUE(at::equal(through_bytes(values, GgmlType::f32), values));
  EXPECT_TRUE(at::equal(through_bytes(values, GgmlType::f16), values.to(torch::kFloat16).to(torch::kFloat32)));
  EXPECT_TRUE(at::equal(through_bytes(values, GgmlType::bf16), values.to(torch::kBFloat16).to(torch::kFloat32)));
}

TEST(GgmlBlocks, EightBitsAreWithinHalfAStep) {
  const Tensor values = test::random_tensor({5, 96}, torch::kFloat32);
  EXPECT_EQ(encode_ggml(values, GgmlType::q8_0).numel(), 5 * 3 * 34);
  const Tensor blocks = values.view({-1, 32}), back = through_bytes(values, GgmlType::q8_0).view({-1, 32});
  const Tensor step = blocks.abs().amax(1, true) / 127;
  // Half a step, and what the 16 bits of the scale (2^-11) make of 127 steps.
  EXPECT_TRUE(((blocks - back).abs() <= step * (0.5 + 127.0 / 2048 + 1e-3)).all().item<bool>());
  EXPECT_TRUE(at::equal(through_bytes(at::zeros({2, 32}), GgmlType::q8_0), at::zeros({2, 32})));
}

// One block by hand: the largest value is 127 steps, and halves are rounded away from zero.
TEST(GgmlBlocks, EightBitsByHand) {
  Tensor values = at::zeros({1, 32});
  const float given[] = {127, -127, 0.5, -0.5, 1.5, 2.5, 0.49, -3};
  const int expected[] = {127, -127, 1, -1, 2, 3, 0, -3};
  for (int i = 0; i < 8; ++i) values[0][i] = given[i];
  const Tensor bytes = encode_ggml(values, GgmlType::q8_0);
  const auto* raw = bytes.const_data_ptr<std::uint8_t>();
  EXPECT_EQ(raw[0] | raw[1] << 8, 0x3C00);  // 1 in 16 bits
  for (int i = 0; i < 8; ++i) EXPECT_EQ(static_cast<std::int8_t>(raw[2 + i]), expected[i]) << given[i];
}

}  // namespace
}  // namespace crope::interop
