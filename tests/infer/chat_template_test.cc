#include "crope/infer/chat_template.h"

#include <gtest/gtest.h>

#include "crope/base/error.h"
#include "crope/base/file.h"
#include "tests/temporary_folder.h"
#include "tests/text/fixtures.h"

namespace crope::infer {
namespace {

constexpr const char* kSmolLm =
    "{% for message in messages %}{% if loop.first and messages[0]['role'] != 'system' %}"
    "{{ '<|im_start|>system\nBe kind.<|im_end|>\n' }}{% endif %}"
    "{{'<|im_start|>' + message['role'] + '\n' + message['content'] + '<|im_end|>' + '\n'}}{% endfor %}"
    "{% if add_generation_prompt %}{{ '<|im_start|>assistant\n' }}{% endif %}";
constexpr const char* kLlama3 = "{{ bos_token }}<|start_header_id|>{{ role }}<|end_header_id|>\n\n{{ c }}<|eot_id|>";
constexpr const char* kLlama2 = "{{ bos_token + '[INST] ' }}{{ '<<SYS>>\n' }} [/INST]";
constexpr const char* kZephyr = "{{ '<|user|>\n' + c + eos_token }}{{ '<|assistant|>\n' }}";

const std::vector<Message> kConversation = {
    {Role::system, "S"}, {Role::user, " A "}, {Role::assistant, "B"}, {Role::user, "C"}};

// Byte tokens, and special tokens for these.
text::Tokenizer tokenizer_with(const std::vector<std::string>& marks) {
  text::Vocabulary vocabulary = text::make_vocabulary({});
  for (const std::string& mark : marks) {
    vocabulary.special_tokens.push_back({mark, static_cast<std::int32_t>(vocabulary.tokens.size())});
    vocabulary.tokens.push_back(mark);
  }
  return text::Tokenizer(vocabulary);
}

TEST(ChatTemplate, PlainIsPlainText) {
  const ChatTemplate plain;
  EXPECT_EQ(plain.text({{Role::user, "Hello?"}}), "User: Hello?\nAssistant:");
  EXPECT_EQ(plain.text(kConversation), "S\nUser:  A \nAssistant: B\nUser: C\nAssistant:");
  EXPECT_EQ(ChatTemplate(kJinjaChatTemplate).family(), ChatFamily::plain);
  EXPECT_EQ(plain.jinja(), kJinjaChatTemplate);
  EXPECT_EQ(plain.stops(), std::vector<std::string>{"\nUser:"});
}

TEST(ChatTemplate, ChatMlHasItsDefaultSystemMessage) {
  const ChatTemplate chat(kSmolLm);
  EXPECT_EQ(chat.family(), ChatFamily::chatml);
  EXPECT_EQ(chat.text({{Role::user, "Hi"}}),
            "<|im_start|>system\nBe kind.<|im_end|>\n<|im_start|>user\nHi<|im_end|>\n<|im_start|>assistant\n");
  EXPECT_EQ(chat.text({{Role::system, "S"}, {Role::user, "Hi"}}),
            "<|im_start|>system\nS<|im_end|>\n<|im_start|>user\nHi<|im_end|>\n<|im_start|>assistant\n");
  // A template that computes its system message has no default.
  const ChatTemplate computed("{{ '<|im_start|>system\\n' + messages[0].content + '<|im_end|>\\n' }}");
  EXPECT_EQ(computed.text({{Role::user, "Hi"}}), "<|im_start|>user\nHi<|im_end|>\n<|im_start|>assistant\n");
}

TEST(ChatTemplate, LlamaAndZephyr) {
  EXPECT_EQ(ChatTemplate(kLlama3).text(kConversation),
            "<|start_header_id|>system<|end_header_id|>\n\nS<|eot_id|><|start_header_id|>user<|end_header_id|>\n\nA"
            "<|eot_id|><|start_header_id|>assistant<|end_header_id|>\n\nB<|eot_id|><|start_header_id|>user"
            "<|end_header_id|>\n\nC<|eot_id|><|start_header_id|>assistant<|end_header_id|>\n\n");
  EXPECT_EQ(ChatTemplate(kLlama2).text(kConversation),
            "[INST] <<SYS>>\nS\n<</SYS>>\n\nA [/INST] B </s><s>[INST] C [/INST]");
  EXPECT_EQ(ChatTemplate(kZephyr).text(kConversation),
            "<|system|>\nS</s>\n<|user|>\n A </s>\n<|assistant|>\nB</s>\n<|user|>\nC</s>\n<|assistant|>\n");
}

TEST(ChatTemplate, MarksAreTokensAndMessagesAreText) {
  const text::Tokenizer tokenizer = tokenizer_with({"<|im_start|>", "<|im_end|>"});
  const std::int32_t start = *tokenizer.find_token("<|im_start|>"), end = *tokenizer.find_token("<|im_end|>");
  const ChatTemplate chat("<|im_start|><|im_end|>");
  const std::vector<std::int32_t> ids = chat.encode({{Role::user, "<|im_end|>"}}, tokenizer, 0);
  EXPECT_EQ(ids.front(), start) << "ChatML begins without the begin token";
  EXPECT_EQ(std::count(ids.begin(), ids.end(), start), 2);
  EXPECT_EQ(std::count(ids.begin(), ids.end(), end), 1) << "the message cannot end its turn";
  EXPECT_EQ(tokenizer.decode(ids), chat.text({{Role::user, "<|im_end|>"}}));
  EXPECT_EQ(chat.end_tokens(tokenizer), std::vector<std::int32_t>{end});
  EXPECT_TRUE(chat.stops().empty());
}

TEST(ChatTemplate, LlamaBeginsWithTheBeginToken) {
  const text::Tokenizer tokenizer = tokenizer_with({"<|start_header_id|>", "<|end_header_id|>", "<|eot_id|>"});
  const ChatTemplate chat(kLlama3);
  EXPECT_EQ(chat.encode(kConversation, tokenizer, 7).front(), 7);
  EXPECT_EQ(chat.encode(kConversation, tokenizer, std::nullopt).front(), *tokenizer.find_token("<|start_header_id|>"));
  EXPECT_EQ(chat.end_tokens(tokenizer), std::vector<std::int32_t>{*tokenizer.find_token("<|eot_id|>")});
}

TEST(ChatTemplate, AConversationBeginsWithItsEarlierTurns) {
  const text::Tokenizer tokenizer = tokenizer_with({"<|im_start|>", "<|im_end|>"});
  const ChatTemplate chat(kSmolLm);
  const std::vector<std::int32_t> before = chat.encode({kConversation[0], kConversation[1]}, tokenizer, 0);
  const std::vector<std::int32_t> after = chat.encode(kConversation, tokenizer, 0);
  ASSERT_GT(after.size(), before.size());
  EXPECT_TRUE(std::equal(before.begin(), before.end(), after.begin()));
}

TEST(ChatTemplate, UnknownOnesAreRefusedAndCanBeReplaced) {
  model::LanguageModel model;
  model.chat_template = "{{ messages | tojson }}";
  EXPECT_THROW(ChatTemplate::of(model), UsageError);
  EXPECT_EQ(ChatTemplate::of(model, "zephyr").family(), ChatFamily::zephyr);
  const test::TemporaryFolder folder;
  write_file(folder / "t.jinja", kLlama3);
  EXPECT_EQ(ChatTemplate::of(model, (folder / "t.jinja").string()).family(), ChatFamily::llama3);
  EXPECT_THROW(ChatTemplate::of(model, (folder / "absent").string()), Error);
  model.chat_template = kSmolLm;
  EXPECT_EQ(ChatTemplate::of(model).family(), ChatFamily::chatml);
}

}  // namespace
}  // namespace crope::infer
