// One head of one layer on a text: the weights after the causal softmax, and, where queries and keys are
// complex-linear, the phase of every pair of a query and a key. Answers POST /api/attention.
//
// The score of query m and key n is the real part of z = scale * q~_m^dagger k~_n, heads after QK-norm and rotation
// (docs/mathematics.md, section 3): |z| cos(arg z), so that arg z = 0 attracts and pi repels. In a tied head a phase of
// a token's normalised input is also a phase of its query and key, if the QK gains of every pair agree (section 8).
#pragma once

#include <torch/types.h>

#include <cstdint>
#include <string>
#include <vector>

#include "crope/base/json.h"
#include "crope/model/transformer.h"
#include "crope/text/tokenizer.h"

namespace crope::serve {

// Largest number of tokens in a view: cells of larger pictures are too small to point at.
inline constexpr std::int64_t kMaxAttentionTokens = 256;

struct AttentionRequest {
  std::vector<std::int32_t> ids;  // 1 to kMaxAttentionTokens of them, and no more than the window
  std::int64_t text_tokens = 0;   // before the text was cut
  std::int64_t layer = 0;         // from 0
  std::int64_t head = 0;          // from 0
};

// Reads {"text": "..." or "ids": [...], "layer": 0, "head": 0}. A longer text is cut to its first tokens: a causal
// model sees them as it sees them in the whole. `tokenizer` may be null: then only ids are understood.
// Throws UsageError naming the field on anything else.
AttentionRequest attention_request(const Json& body, const model::ModelConfig& config,
                                   const text::Tokenizer* tokenizer);

// [T, T] each, fp32 on the CPU, rows are queries, columns are keys; 0 where a key comes after the query.
struct AttentionView {
  torch::Tensor weights;  // rows sum to 1
  torch::Tensor scores;   // before the softmax
  // Undefined unless Q and K are complex-linear.
  torch::Tensor magnitude;  // |z|: scores = magnitude * cos(phase)
  torch::Tensor phase;      // arg z, in (-pi, pi]
  // Magnitude and phase without positions: phase minus content_phase is what the rotation adds.
  torch::Tensor content_magnitude;
  torch::Tensor content_phase;
};

// Through the operations of the model, in fp32. For the thread that owns the model.
AttentionView attention_view(const model::Transformer& model, const AttentionRequest& request);

// {"layer", "head", "complex", "text_tokens", "ids": [T], "tokens": [T], "weights", "scores"} and, for a complex head,
// {"magnitude", "phase", "content_magnitude", "content_phase"}: lists of rows, row m with its m + 1 visible keys,
// rounded to five digits after the point. "tokens" are names as in openai_response.h, omitted without a tokenizer.
Json attention_json(const AttentionView& view, const AttentionRequest& request, const text::Tokenizer* tokenizer);

}  // namespace crope::serve
