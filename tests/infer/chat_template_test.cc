#include "crope/infer/chat_template.h"

#include <gtest/gtest.h>

namespace crope::infer {
namespace {

TEST(ChatTemplate, IsPlainText) {
  EXPECT_EQ(chat_text({{Role::user, "Hello?"}}), "User: Hello?\nAssistant:");
  EXPECT_EQ(chat_text({{Role::system, "Be short."}, {Role::user, "A"}, {Role::assistant, "B"}, {Role::user, "C"}}),
            "Be short.\nUser: A\nAssistant: B\nUser: C\nAssistant:");
}

TEST(ChatTemplate, AConversationBeginsWithItsEarlierTurns) {
  const std::vector<Message> turns = {{Role::system, "S"}, {Role::user, "A"}, {Role::assistant, "B"}};
  std::string text;
  for (const Message& turn : turns) text += chat_turn(turn);
  EXPECT_EQ(chat_text(turns), text + std::string(kChatAnswer));
}

}  // namespace
}  // namespace crope::infer
