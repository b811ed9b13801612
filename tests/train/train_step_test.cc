#include "crope/train/train_step.h"

#include "crope/model/init.h"
#include "tests/tensor_checks.h"

namespace crope::train {
namespace {

using torch::Tensor;

data::TokenBatch make_batch(std::int64_t rows, std::int64_t T) {
  data::TokenBatch batch{.rows = rows, .tokens = {}};
  for (std::int64_t i = 0; i < rows * (T + 1); ++i) batch.tokens.push_back(i * 7 % 31);
  return batch;
}

model::Transformer make_model() {
  model::Transformer model = model::make_random_transformer({.vocab_size = 31,
                                                             .num_layers = 2,
                                                             .num_heads = 2,
                                                             .d_model = 16,
                                                             .d_ff = 12,
                                                             .variant = model::Variant::crope_all},
                                                            {}, torch::kFloat64);
  model::set_requires_grad(model, true);
  return model;
}

// Pieces of any size, also ones that do not divide the batch, give the gradients of the whole.
TEST(ComputeGradients, PiecesAddUpToTheBatch) {
  model::Transformer whole = make_model();
  data::TokenBatch batch = make_batch(5, 6);
  const auto expected = compute_gradients(whole, batch, {.micro_batch_size = 5}, [] { return false; });
  for (const std::int64_t rows : {1, 2, 3, 4, 7}) {
    model::Transformer pieces = make_model();
    const auto loss = compute_gradients(pieces, batch, {.micro_batch_size = rows}, [] { return false; });
    EXPECT_NEAR(*loss, *expected, 1e-12);
    for (std::size_t i = 0; i < whole.parameters.size(); ++i) {
      crope::test::expect_close(pieces.parameters[i].value.grad(), whole.parameters[i].value.grad(), 1e-10,
                                whole.parameters[i].spec.name);
    }
  }
}

TEST(ComputeGradients, StopsBetweenPieces) {
  model::Transformer model = make_model();
  data::TokenBatch batch = make_batch(4, 6);
  int asked = 0;
  EXPECT_FALSE(compute_gradients(model, batch, {.micro_batch_size = 1}, [&] { return ++asked == 3; }));
  EXPECT_EQ(asked, 3);
}

}  // namespace
}  // namespace crope::train
