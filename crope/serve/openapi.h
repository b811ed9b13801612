// The server's own description, in the form of OpenAPI 3.2: the first that has a word for streams of events.
#pragma once

#include <cstdint>

#include "crope/base/json.h"
#include "crope/model/config.h"

namespace crope::serve {

// What the description depends on.
struct ServedFacts {
  const model::ModelConfig& config;
  std::int64_t tokenizer_size;  // tokens that can be turned into text
  std::int64_t max_choices;     // prompts times n
  bool needs_key = false;
};

// Limits of single fields are those that openai_request checks. That prompts times n and the length of a text in
// tokens are limited too is not said.
Json openapi_description(const ServedFacts& facts);

}  // namespace crope::serve
