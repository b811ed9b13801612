// How well a model predicts given tokens, on the engine that generates.
#pragma once

#include <torch/types.h>

#include <cstdint>
#include <span>

#include "crope/infer/decoder.h"

namespace crope::infer {

// -log p(ids[t] | ids[0..t-1]) for t = 1...: [T - 1] from ids[T]. Throws Error as Decoder::append does.
torch::Tensor token_losses(Decoder& decoder, std::span<const std::int32_t> ids);

}  // namespace crope::infer
