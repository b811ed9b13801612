// The messages of a request for a chat completion.
#pragma once

#include <vector>

#include "crope/base/json.h"
#include "crope/infer/chat_template.h"

namespace crope::serve {

// "messages" of a request: {"role": "system" | "developer" | "user" | "assistant", "content": text or a list of
// {"type": "text", "text"}}. Throws ApiError naming the message and the field.
std::vector<infer::Message> messages_from_json(const Json& json);

}  // namespace crope::serve
