// A conversation as one text.
//
// The template is plain text, so that a model that was trained on nothing but text can follow it:
//
//   <system text>
//   User: <message>
//   Assistant: <answer>
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace crope::infer {

enum class Role { system, user, assistant };

struct Message {
  Role role;
  std::string content;
};

// One message, with its line end.
std::string chat_turn(const Message& message);

// The text that the model continues: all messages, then kChatAnswer.
std::string chat_text(const std::vector<Message>& messages);

// Stands before an answer, whose first word brings its own space.
inline constexpr std::string_view kChatAnswer = "Assistant:";

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

}  // namespace crope::infer
