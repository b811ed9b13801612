#include "crope/serve/chat_messages.h"

#include <gtest/gtest.h>

#include "crope/serve/api_error.h"

namespace crope::serve {
namespace {

std::string text_of(const char* messages) {
  return infer::ChatTemplate().text(messages_from_json(parse_json(messages, "messages")));
}

TEST(ChatMessages, BecomeTheTextOfTheTemplate) {
  EXPECT_EQ(text_of(R"([{"role":"user","content":"Hello?"}])"), "User: Hello?\nAssistant:");
  EXPECT_EQ(text_of(R"([{"role":"system","content":"Be short."},{"role":"user","content":"A"},
                        {"role":"assistant","content":"B"},{"role":"user","content":"C"}])"),
            "Be short.\nUser: A\nAssistant: B\nUser: C\nAssistant:");
  EXPECT_EQ(text_of(R"([{"role":"developer","content":[{"type":"text","text":"x"},{"type":"text","text":"y"}]}])"),
            "xy\nAssistant:");
}

TEST(ChatMessages, RefusesWhatIsNoConversation) {
  for (const char* wrong :
       {"[]", "{}", "3", "[3]", R"([{"role":"user"}])", R"([{"content":"x"}])", R"([{"role":"tool","content":"x"}])",
        R"([{"role":3,"content":"x"}])", R"([{"role":"user","content":3}])", R"([{"role":"user","content":[3]}])",
        R"([{"role":"user","content":[{"type":"image_url","image_url":"x"}]}])",
        R"([{"role":"user","content":[{"type":"text","text":3}]}])", R"([{"role":"user","content":null}])"}) {
    EXPECT_THROW(messages_from_json(parse_json(wrong, "messages")), ApiError) << wrong;
  }
}

}  // namespace
}  // namespace crope::serve
