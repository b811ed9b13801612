#include "crope/ops/embedding.h"

#include "crope/base/error.h"
#include "crope/ops/reference.h"
#include "tests/tensor_checks.h"

namespace crope::ops {
namespace {

using test::TensorList;
using torch::Tensor;

const Tensor kEmbeddingIds = at::tensor({3, 0, 3, 3, 4, 1}, torch::kInt64).view({2, 3});

// Both uses of the weight, so that their gradients meet.
TensorList both_embedding_uses(const TensorList& x) {
  const TiedEmbedding result = tied_embedding(x[0], kEmbeddingIds);
  return {result.rows, result.weight * result.weight};
}
TensorList both_embedding_twins(const TensorList& x) {
  return {reference::embedding(x[0], kEmbeddingIds), x[0] * x[0]};
}

TEST(Embedding, EqualsItsTwin) {
  for (const int64_t D : {1, 3, 70})
    test::check_against(both_embedding_uses, both_embedding_twins, {test::random_tensor({5, D})}, 1e-13);
}

TEST(Embedding, GradientsByFiniteDifferences) {
  test::check_gradients(both_embedding_uses, {test::random_tensor({5, 3})});
  test::check_gradients(both_embedding_twins, {test::random_tensor({5, 3})});
}

TEST(Embedding, TheWeightIsTheSameMemory) {
  const Tensor weight = test::random_tensor({5, 3});
  const TiedEmbedding result = tied_embedding(weight, kEmbeddingIds);
  EXPECT_EQ(result.weight.data_ptr(), weight.data_ptr());
  EXPECT_EQ(result.rows.sizes(), at::IntArrayRef({2, 3, 3}));
  EXPECT_TRUE(at::equal(result.rows[1][1], weight[4]));
}

TEST(Embedding, RefusesWhatIsNotAMatrix) {
  EXPECT_THROW(tied_embedding(at::zeros({5}), kEmbeddingIds), Error);
}

}  // namespace
}  // namespace crope::ops
