// The served model in numbers. Answers GET /api/model.
#pragma once

#include <string>

#include "crope/base/json.h"
#include "crope/model/config.h"

namespace crope::serve {

struct ServedModel {
  std::string name;       // as in /v1/models
  std::string precision;  // "fp32" or "bf16", of the weights
  bool has_tokenizer = false;
  std::string chat = {};  // the family of the chat template; "" where chat completions are refused
  bool is_run = false;    // RunView::is_run
};

// {"name", "variant", "precision", "tokenizer", "chat": family of the template or null, "run", "config": as
// config.json, "tied": ["q", "k"...],
//  "parameters": {"embedding", "attention", "feed_forward", "norm", "total"}, "rope_parameters": the same of the
//  variant rope at these dimensions, "attention_saving": share of attention's parameters, "max_attention_tokens"}
Json model_card(const model::ModelConfig& config, const ServedModel& served);

}  // namespace crope::serve
