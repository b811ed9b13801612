// The weights of a model one behind the other in memory.
#pragma once

#include "crope/model/transformer.h"

namespace crope::infer {

// The same model with its weights copied into one block of memory, which the system is asked to keep in large pages:
// the processor finds those faster. Originals that nobody else holds are let go one by one, so that memory does not hold
// the model twice. The model must be on the CPU.
model::Transformer pack_weights(model::Transformer model);

}  // namespace crope::infer
