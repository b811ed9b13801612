#include "crope/infer/calibration.h"

#include <ATen/ATen.h>
#include <fmt/format.h>

#include <algorithm>

#include "crope/base/error.h"
#include "crope/base/interrupt.h"
#include "crope/infer/decoder.h"
#include "crope/infer/token_losses.h"

namespace crope::infer {
namespace {

using model::InputMoments;
using torch::Tensor;

constexpr std::int64_t kShortestWindow = 64;
constexpr std::int64_t kFewestWindows = 8;  // one of them is held out

Tensor& moments_of(InputMoments& moments, BlockInput input) {
  switch (input) {
    case BlockInput::attention:
      return moments.attention;
    case BlockInput::o:
      return moments.o;
    case BlockInput::feed_forward:
      return moments.feed_forward;
    case BlockInput::down:
      break;
  }
  return moments.down;
}

std::int64_t count_tokens(std::span<const TokenWindow> windows) {
  std::int64_t count = 0;
  for (const TokenWindow& window : windows) count += std::ssize(window);
  return count;
}

}  // namespace

std::int64_t CalibrationText::tokens() const {
  return count_tokens(windows);
}

std::int64_t CalibrationText::held_out_tokens() const {
  return count_tokens(held_out);
}

CalibrationText cut_calibration_text(std::span<const std::int32_t> ids, std::int64_t window, std::int64_t most_tokens) {
  const std::int64_t length = std::min(window, std::max(kShortestWindow, std::ssize(ids) / kFewestWindows));
  const std::int64_t available = std::ssize(ids) / length;
  if (available < kFewestWindows) {
    throw UsageError(fmt::format("the calibration text has {} tokens, expected at least {}", ids.size(),
                                 kFewestWindows * std::min(window, kShortestWindow)),
                     "give a longer text");
  }
  const std::int64_t count = std::clamp(most_tokens / length, kFewestWindows, available);
  CalibrationText text;
  for (std::int64_t i = 0; i < count; ++i) {
    const auto first = ids.begin() + i * available / count * length;
    auto& windows = i % kFewestWindows == kFewestWindows - 1 ? text.held_out : text.windows;
    windows.emplace_back(first, first + length);
  }
  return text;
}

std::vector<InputMoments> measure_input_moments(const model::Transformer& model, std::span<const TokenWindow> windows) {
  std::vector<InputMoments> moments(model.blocks.size());
  const auto tokens = static_cast<double>(count_tokens(windows));
  Decoder decoder(model);
  decoder.observe([&](std::int64_t block, BlockInput input, const Tensor& rows) {
    Tensor& sum = moments_of(moments[static_cast<std::size_t>(block)], input);
    if (!sum.defined()) sum = at::zeros({rows.size(1), rows.size(1)});
    sum.addmm_(rows.t(), rows, 1, 1 / tokens);
  });
  for (const TokenWindow& window : windows) {
    throw_if_interrupted();
    KvCache cache = decoder.make_cache();
    const Chunk chunk{.cache = &cache, .ids = window};
    decoder.append({&chunk, 1});
  }
  return moments;
}

double mean_loss(const model::Transformer& model, std::span<const TokenWindow> windows) {
  Decoder decoder(model);
  double sum = 0;
  std::int64_t count = 0;
  for (const TokenWindow& window : windows) {
    throw_if_interrupted();
    const Tensor losses = token_losses(decoder, window);
    sum += losses.sum(at::kDouble).item<double>();
    count += losses.size(0);
  }
  return sum / static_cast<double>(std::max<std::int64_t>(1, count));
}

}  // namespace crope::infer
