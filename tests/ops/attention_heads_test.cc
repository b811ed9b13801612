#include "crope/ops/attention_heads.h"

#include "crope/ops/reference.h"
#include "crope/ops/rotary_attention.h"
#include "tests/tensor_checks.h"

namespace crope::ops {
namespace {

using test::TensorList;
using torch::Tensor;

constexpr int64_t kB = 2, kT = 5, kH = 4, kG = 2, kK = 6, kKv = 10;

TensorList random_inputs(bool with_gains) {
  TensorList x = {test::random_tensor({kB, kT, kH * kK}), test::random_tensor({kB, kT, kG * kK}),
                  test::random_tensor({kB, kT, kG * kKv})};
  if (with_gains) x.insert(x.end(), {test::random_tensor({kK}), test::random_tensor({kK})});
  return x;
}

TensorList run_heads(const TensorList& x) {
  const RopeTable table = rope_table(at::arange(kT), kK, 5000, x[0].options());
  const bool gains = x.size() == 5;
  const AttentionHeads heads =
      attention_heads(x[0], x[1], x[2], gains ? x[3] : Tensor(), gains ? x[4] : Tensor(), table, kH, kG, 1e-6);
  return {heads.q, heads.k, heads.v};
}

// From halves to neighbouring pairs.
Tensor as_pairs(const Tensor& heads) {
  return heads.unflatten(-1, {2, heads.size(-1) / 2}).transpose(-1, -2).flatten(-2);
}

TensorList run_twin(const TensorList& x) {
  const auto turn = [&](const Tensor& flat, int64_t heads, std::size_t gain) {
    Tensor y = split_heads(flat, heads);
    if (x.size() == 5) y = reference::rms_norm(y, x[gain], 1e-6);
    return as_pairs(reference::rope(y, at::arange(kT), 5000));
  };
  return {turn(x[0], kH, 3), turn(x[1], kG, 4), split_heads(x[2], kG)};
}

TEST(AttentionHeads, EqualTheirTwin) {
  for (const bool with_gains : {true, false}) {
    test::check_against(run_heads, run_twin, random_inputs(with_gains), 1e-11);
    test::check_gradients(run_heads, random_inputs(with_gains));
  }
}

// What a product of all three gives, and what its gradient takes back as one matrix.
TEST(AttentionHeads, ReadAndWriteColumnsOfOneMatrix) {
  const TensorList apart = random_inputs(true);
  const Tensor wide = at::cat({apart[0], apart[1], apart[2]}, 2);
  TensorList columns = apart;
  int64_t column = 0;
  for (std::size_t i = 0; i < 3; ++i) {
    columns[i] = wide.narrow(2, column, apart[i].size(2));
    column += apart[i].size(2);
  }
  const TensorList expected = run_heads(apart), found = run_heads(columns);
  for (std::size_t i = 0; i < 3; ++i) EXPECT_TRUE(at::equal(found[i], expected[i]));
}

TEST(AttentionHeads, KeepTheTypeOfTheProjections) {
  TensorList x;
  for (const Tensor& one : random_inputs(false)) x.push_back(one.to(at::kBFloat16));
  const RopeTable table = rope_table(at::arange(kT), kK, 5000, at::kFloat);
  const Tensor gain = at::ones({kK});
  const AttentionHeads heads = attention_heads(x[0], x[1], x[2], gain, gain, table, kH, kG, 1e-6);
  for (const Tensor& one : {heads.q, heads.k, heads.v}) EXPECT_EQ(one.scalar_type(), at::kBFloat16);
}

}  // namespace
}  // namespace crope::ops
