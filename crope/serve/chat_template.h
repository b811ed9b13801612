// A conversation as one text.
//
// The template is plain text, the one of `crope chat`, so that a model that was trained on nothing but text can follow
// it:
//
//   <system text>
//   User: <message>
//   Assistant: <answer>
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "crope/base/json.h"

namespace crope::serve {

enum class Role { system, user, assistant };

struct Message {
  Role role;
  std::string content;
};

// "messages" of a request: {"role": "system" | "developer" | "user" | "assistant", "content": text or a list of
// {"type": "text", "text"}}. Throws ApiError naming the message and the field.
std::vector<Message> messages_from_json(const Json& json);

// The text that the model continues: it ends with "Assistant:".
std::string chat_text(const std::vector<Message>& messages);

// An answer ends before this.
inline constexpr std::string_view kChatStop = "\nUser:";

// The same template in the language of Hugging Face's tokenizers (Jinja).
inline constexpr std::string_view kJinjaChatTemplate =
    "{% for m in messages %}"
    "{% if m['role'] in ['system', 'developer'] %}{{ m['content'] + '\\n' }}"
    "{% elif m['role'] == 'user' %}{{ 'User: ' + m['content'] + '\\n' }}"
    "{% else %}{{ 'Assistant: ' + m['content'] + '\\n' }}{% endif %}"
    "{% endfor %}"
    "{% if add_generation_prompt %}{{ 'Assistant:' }}{% endif %}";

}  // namespace crope::serve
