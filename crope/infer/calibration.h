// Statistics of the inputs of a model's matrices on a text: they tell which rounding errors cost most.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "crope/model/quantise.h"

namespace crope::infer {

using TokenWindow = std::vector<std::int32_t>;

// Stretches of a text, spread over all of it. Every eighth is held out: it shows what calibration is worth.
struct CalibrationText {
  std::vector<TokenWindow> windows, held_out;

  std::int64_t tokens() const;
  std::int64_t held_out_tokens() const;
};

// At most `most_tokens` tokens in windows of `window` tokens each. Throws UsageError if the text is shorter than eight
// short windows (64 tokens, or the model's window).
inline constexpr std::int64_t kCalibrationTokens = 1 << 15;
CalibrationText cut_calibration_text(std::span<const std::int32_t> ids, std::int64_t window,
                                     std::int64_t most_tokens = kCalibrationTokens);

// The second moments of every block's inputs. REQUIRES: the model is in fp32 or bf16.
std::vector<model::InputMoments> measure_input_moments(const model::Transformer& model,
                                                       std::span<const TokenWindow> windows);

// The mean loss, in nats per token, of all windows' tokens but the first of each.
double mean_loss(const model::Transformer& model, std::span<const TokenWindow> windows);

}  // namespace crope::infer
