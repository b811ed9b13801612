#include "crope/ops/device.h"

#include "crope/ops/cpu/isa.h"
#include "tests/tensor_checks.h"

namespace crope::ops {
namespace {

using torch::Tensor;

TEST(Device, KernelsAreForOneDeviceAndType) {
  const Tensor x = at::zeros({2, 3}), wide = at::zeros({2, 3}, torch::kFloat64);
  EXPECT_EQ(kernels_for({x, x}).rms_norm != nullptr, cpu::fused_kernels_enabled());
  EXPECT_EQ(kernels_for({x, Tensor()}).rms_norm, kernels_for({x}).rms_norm);
  for (const auto& tensors : {std::vector{wide, wide},
                              {x, wide},
                              {x.to(torch::kBFloat16), x},
                              {x, at::zeros({0, 3})},
                              {x, at::zeros({2, 3}).to_sparse()},
                              {x, x.to(torch::Device("meta"))}}) {
    EXPECT_EQ(kernels_for({tensors[0], tensors[1]}).rms_norm, nullptr) << tensors[1].toString();
  }
  EXPECT_EQ(kernels_for({}).rms_norm, nullptr);
  EXPECT_EQ(kernels_for({Tensor()}).rms_norm, nullptr);
}

TEST(Device, InferenceRunsOnTheCpuInFp32) {
  EXPECT_NE(inference_kernels(torch::kCPU, torch::kFloat32).linear_rows, nullptr);
  EXPECT_EQ(inference_kernels(torch::kCPU, torch::kFloat64).linear_rows, nullptr);
  EXPECT_EQ(inference_kernels(torch::Device("meta"), torch::kFloat32).linear_rows, nullptr);
}

TEST(Device, TheInstructionSetIsThatOfTheKernels) {
  const auto name = cpu_instruction_set();
  ASSERT_EQ(name.has_value(), cpu::fused_kernels_enabled());
  if (name) {
    EXPECT_EQ(*name, cpu::instruction_set());
  }
}

TEST(Device, ViewsShowTheMemoryOfTensors) {
  const Tensor x = at::arange(24, torch::kFloat32).view({2, 3, 4});
  const ConstMatrix all = view(x);
  EXPECT_EQ(all.rows, 6);
  EXPECT_EQ(all.columns, 4);
  EXPECT_EQ(all.row(5)[3], 23);
  const Matrix slice = mutable_view(x.view({6, 4}).narrow(1, 1, 2));
  EXPECT_EQ(slice.columns, 2);
  EXPECT_EQ(slice.row(2)[1], 10);
  slice.row(2)[1] = -1;
  EXPECT_EQ(x[0][2][2].item<float>(), -1);
  const ConstMatrix last = all.from_row(4, 2);
  EXPECT_EQ(last.rows, 2);
  EXPECT_EQ(last.row(0), all.row(4));
  EXPECT_EQ(view(x[1][2]).rows, 1);
  EXPECT_EQ(view(at::ones({})).columns, 1);
  EXPECT_FALSE(view(Tensor()).defined());
  EXPECT_EQ(flat_view(x).columns, 24);
  EXPECT_EQ(id_view(at::tensor({7, 8}, torch::kInt64)).data[1], 8);
}

}  // namespace
}  // namespace crope::ops
