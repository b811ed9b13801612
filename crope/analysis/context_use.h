// How a model uses its context: its loss by position, and what it gains where a passage comes a second time.
#pragma once

#include <torch/types.h>

#include <cstdint>
#include <span>
#include <vector>

#include "crope/model/transformer.h"

namespace crope::analysis {

// Predictions of the tokens at places [first, end) of a row. The token at place t has t tokens before it.
struct PositionLoss {
  std::int64_t first, end;
  std::int64_t tokens;    // predicted, in all rows
  double loss;            // mean nats per token
  double standard_error;  // over rows; 0 for a single one
};

// A passage is read a second time, `distance` tokens after its first reading. The control differs only in the tokens of
// that first reading: they are those of another passage.
struct Recall {
  std::int64_t distance;
  std::int64_t passages;
  double unread;          // mean nats per token of the passage in the control
  double again;           // the same where it was read before
  double gain;            // unread - again: 0 for a model that remembers nothing
  double standard_error;  // of the gain, over passages
};

struct ContextUse {
  std::vector<PositionLoss> positions;  // [1, 64), [64, 128), and so on, each as wide as all before it
  std::vector<Recall> recall;           // at distances 64, 128, and so on
};

inline constexpr std::int64_t kPassage = 32;        // tokens
inline constexpr std::int64_t kNearestRecall = 64;  // tokens: the first distance, and the end of the first range

// Over rows of ids [1, T], which may differ in length. The passage of a row is its tokens [1, 1 + kPassage), the
// control takes that of the next row; a distance is measured on the rows that are long enough for it, if there are two
// or more. Throws Error if a row is longer than the window. REQUIRES: 0 <= ids < V, at least one row, T > 1.
ContextUse context_use(const model::Transformer& model, std::span<const torch::Tensor> rows);

}  // namespace crope::analysis
