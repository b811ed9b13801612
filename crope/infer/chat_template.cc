#include "crope/infer/chat_template.h"

namespace crope::infer {

std::string chat_turn(const Message& message) {
  std::string text;
  if (message.role == Role::user) text = "User: ";
  if (message.role == Role::assistant) text = std::string(kChatAnswer) + ' ';
  return text + message.content + '\n';
}

std::string chat_text(const std::vector<Message>& messages) {
  std::string text;
  for (const Message& message : messages) text += chat_turn(message);
  return text += kChatAnswer;
}

}  // namespace crope::infer
