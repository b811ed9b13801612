#include "crope/analysis/context_use.h"

#include "crope/base/error.h"
#include "crope/model/init.h"
#include "tests/tensor_checks.h"

namespace crope::analysis {
namespace {

using torch::Tensor;

model::Transformer random_model(std::int64_t window) {
  model::ModelConfig config{.vocab_size = 31, .num_layers = 2, .num_heads = 2, .d_model = 16, .d_ff = 12};
  config.max_seq_len = window;
  return model::make_random_transformer(config, {.seed = 2, .embedding_std = 0.4});
}

Tensor row_of(std::int64_t length, std::int64_t step) {
  return at::arange(length, torch::kInt64).mul(step).remainder(31).unsqueeze(0);
}

double sum_of(const Tensor& losses, std::int64_t first, std::int64_t end) {
  return losses.narrow(0, first - 1, end - first).sum(torch::kFloat64).item<double>();
}

TEST(ContextUse, AddsLossesOfRangesThatDouble) {
  const model::Transformer model = random_model(200);
  const std::vector<Tensor> rows = {row_of(200, 3), row_of(100, 7)};
  const ContextUse use = context_use(model, rows);
  ASSERT_EQ(use.positions.size(), 3u);
  const Tensor first = model::token_losses(model, rows[0][0]), second = model::token_losses(model, rows[1][0]);
  const std::vector<std::array<std::int64_t, 3>> expected = {{1, 64, 126}, {64, 128, 100}, {128, 200, 72}};
  for (std::size_t i = 0; i < expected.size(); ++i) {
    const PositionLoss& range = use.positions[i];
    EXPECT_EQ(range.first, expected[i][0]);
    EXPECT_EQ(range.end, expected[i][1]);
    EXPECT_EQ(range.tokens, expected[i][2]);
    double sum = sum_of(first, range.first, range.end);
    if (range.first < 100) sum += sum_of(second, range.first, std::min<std::int64_t>(range.end, 100));
    EXPECT_NEAR(range.loss, sum / static_cast<double>(range.tokens), 1e-6);
  }
  EXPECT_GT(use.positions[0].standard_error, 0);
  EXPECT_EQ(use.positions[2].standard_error, 0) << "one row reaches so far";
}

// The passage and its control, put together by hand.
TEST(ContextUse, ComparesAPassageWithItsControl) {
  const model::Transformer model = random_model(200);
  const std::vector<Tensor> rows = {row_of(97, 3), row_of(97, 7), row_of(90, 5)};
  const ContextUse use = context_use(model, rows);
  ASSERT_EQ(use.recall.size(), 1u) << "97 tokens are one, a distance of 64 and a passage of 32";
  const Recall& recall = use.recall[0];
  EXPECT_EQ(recall.distance, 64);
  EXPECT_EQ(recall.passages, 2) << "the third row is too short";
  double again = 0, unread = 0;
  for (int i = 0; i < 2; ++i) {
    const Tensor row = rows[static_cast<std::size_t>(i)][0], other = rows[static_cast<std::size_t>(1 - i)][0];
    const Tensor passage = row.slice(0, 1, 33), text = row.slice(0, 33, 65);
    const auto loss = [&](const Tensor& before) {
      const Tensor ids = at::cat({row.slice(0, 0, 1), before, text, passage});
      return sum_of(model::token_losses(model, ids), 66, 97) / 31;
    };
    again += loss(passage) / 2;
    unread += loss(other.slice(0, 1, 33)) / 2;
  }
  EXPECT_NEAR(recall.again, again, 1e-6);
  EXPECT_NEAR(recall.unread, unread, 1e-6);
  EXPECT_NEAR(recall.gain, unread - again, 1e-6);
  EXPECT_GT(recall.standard_error, 0);
}

TEST(ContextUse, NeedsTwoPassagesForTheControl) {
  const std::vector<Tensor> rows = {row_of(120, 3)};
  const ContextUse use = context_use(random_model(200), rows);
  EXPECT_EQ(use.positions.size(), 2u);
  EXPECT_TRUE(use.recall.empty());
}

TEST(ContextUse, RefusesRowsOutsideTheWindow) {
  const std::vector<Tensor> rows = {row_of(14, 1)};
  EXPECT_THROW(context_use(random_model(12), rows), Error);
}

}  // namespace
}  // namespace crope::analysis
