// The server's own description, in the form of OpenAPI 3.2, the first version with streams of events.
#pragma once

#include <cstdint>

#include "crope/base/json.h"
#include "crope/model/config.h"

namespace crope::serve {

// The settings that the description depends on.
struct ServedFacts {
  const model::ModelConfig& config;
  std::int64_t tokenizer_size;  // tokens that can be turned into text
  std::int64_t max_choices;     // prompts times n
  bool needs_key = false;
};

// Limits of single fields are those that openai_request checks. The limits of prompts times n and of the length of a
// text in tokens are not described.
Json openapi_description(const ServedFacts& facts);

}  // namespace crope::serve
