#include "crope/infer/calibration.h"

#include <numeric>

#include "crope/base/error.h"
#include "crope/infer/decoder.h"
#include "tests/infer/small_model.h"

namespace crope::infer {
namespace {

TEST(Calibration, WindowsAreSpreadOverTheText) {
  std::vector<std::int32_t> ids(10'000);
  std::iota(ids.begin(), ids.end(), 0);
  const CalibrationText text = cut_calibration_text(ids, 100, 2000);
  EXPECT_EQ(text.tokens() + text.held_out_tokens(), 2000);
  EXPECT_EQ(text.held_out.size(), 2u);
  EXPECT_EQ(text.windows.front().front(), 0);
  EXPECT_GT(text.held_out.back().back(), 7000) << "not the beginning alone";
  for (const TokenWindow& window : text.windows) {
    EXPECT_EQ(window.size(), 100u);
    for (const TokenWindow& other : text.held_out) EXPECT_NE(window.front(), other.front());
  }
  // A short text has short windows; one that is too short is refused.
  EXPECT_EQ(cut_calibration_text(std::span(ids).first(600), 512).windows.front().size(), 75u);
  EXPECT_THROW(cut_calibration_text(std::span(ids).first(500), 512), UsageError);
}

TEST(Calibration, MomentsAreThoseOfTheInputs) {
  const model::Transformer model = test::small_model(model::Variant::crope_qk, 80);
  const std::vector<TokenWindow> windows = {test::draw_ids(1, 40), test::draw_ids(2, 64)};
  const auto moments = measure_input_moments(model, windows);
  ASSERT_EQ(moments.size(), 2u);
  for (std::int64_t layer = 0; layer < 2; ++layer) {
    at::Tensor sum = at::zeros({24, 24});
    for (const TokenWindow& window : windows) {
      const std::vector<std::int64_t> wide(window.begin(), window.end());
      const at::Tensor x = model::layer_input(model, at::tensor(wide, at::kLong).unsqueeze(0), layer).x[0];
      sum += at::matmul(x.t(), x);
    }
    const model::InputMoments& block = moments[static_cast<std::size_t>(layer)];
    EXPECT_LT(test::relative_error(block.attention, sum / 104), 1e-4);
    for (const auto& [each, width] :
         {std::pair(block.o, 24), std::pair(block.feed_forward, 24), std::pair(block.down, 37)}) {
      EXPECT_EQ(each.sizes(), (at::IntArrayRef{width, width}));
      EXPECT_GT(each.diagonal().min().item<float>(), 0);
      EXPECT_LT((each - each.t()).abs().max().item<float>(), 1e-5);
    }
  }
}

TEST(Calibration, CalibratedWeightsLoseLess) {
  // Some channels carry much more than others, as in trained models.
  model::Transformer model = test::small_model(model::Variant::crope_all, 80);
  for (model::Block& block : model.blocks) {
    block.attention_norm.narrow(0, 0, 3).mul_(12);
    block.feed_forward_norm.narrow(0, 5, 3).mul_(12);
  }
  std::vector<TokenWindow> windows;
  for (std::uint64_t i = 0; i < 8; ++i) windows.push_back(test::draw_ids(i, 60));
  const auto moments = measure_input_moments(model, windows);
  const std::vector<std::int32_t> ids = test::draw_ids(99, 60);
  const at::Tensor expected = test::uncached_logits(model, ids);
  const auto error_of = [&](const model::Transformer& quantised) {
    Decoder decoder(quantised);
    KvCache cache = decoder.make_cache();
    const Chunk chunk{.cache = &cache, .ids = ids};
    decoder.append({&chunk, 1});
    std::vector<std::int64_t> rows(ids.size());
    std::iota(rows.begin(), rows.end(), 0);
    return test::relative_error(decoder.logits(rows), expected);
  };
  const double plain = error_of(model::quantise(model, ops::WeightType::int4));
  const double calibrated = error_of(model::quantise_for(model, moments));
  EXPECT_LT(calibrated, 0.9 * plain);
}

TEST(Calibration, MeanLoss) {
  const model::Transformer model = test::small_model(model::Variant::rope, 80);
  const std::vector<TokenWindow> windows = {test::draw_ids(1, 20), test::draw_ids(2, 51)};
  double sum = 0;
  for (const TokenWindow& window : windows) {
    const std::vector<std::int64_t> wide(window.begin(), window.end());
    sum += model::token_losses(model, at::tensor(wide, at::kLong)).sum().item<double>();
  }
  EXPECT_NEAR(mean_loss(model, windows), sum / 69, 1e-4);
}

}  // namespace
}  // namespace crope::infer
