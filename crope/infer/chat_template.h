// A conversation as the tokens that a model was trained to see.
//
// Models bring their template as a program in Jinja. The few families that matter are recognised by the marks that they
// contain, and written here:
//
//   plain    <system>\n User: <message>\n Assistant: <answer>\n          models that were trained on text alone
//   ChatML   <|im_start|>role\n ... <|im_end|>\n                        SmolLM2, Qwen
//   Llama 2  <s>[INST] <<SYS>>\n ... \n<</SYS>>\n\n ... [/INST] ... </s>
//   Llama 3  <|start_header_id|>role<|end_header_id|>\n\n ... <|eot_id|>
//   Zephyr   <|role|>\n ... </s>\n
//
// Marks count as special tokens only where the template has them: a message that spells one is ordinary text.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "crope/base/choice.h"
#include "crope/model/language_model.h"
#include "crope/text/tokenizer.h"

namespace crope::infer {

enum class Role { system, user, assistant };

struct Message {
  Role role;
  std::string content;
};

enum class ChatFamily { plain, chatml, llama2, llama3, zephyr };

}  // namespace crope::infer

template <>
struct crope::ChoiceNames<crope::infer::ChatFamily> {
  using Kind = infer::ChatFamily;
  static constexpr auto kNames = choice_names<Kind>({{Kind::plain, "plain"},
                                                     {Kind::chatml, "chatml"},
                                                     {Kind::llama2, "llama2"},
                                                     {Kind::llama3, "llama3"},
                                                     {Kind::zephyr, "zephyr"}});
};

namespace crope::infer {

// The plain template in Jinja.
inline constexpr std::string_view kJinjaChatTemplate =
    "{% for m in messages %}"
    "{% if m['role'] in ['system', 'developer'] %}{{ m['content'] + '\\n' }}"
    "{% elif m['role'] == 'user' %}{{ 'User: ' + m['content'] + '\\n' }}"
    "{% else %}{{ 'Assistant: ' + m['content'] + '\\n' }}{% endif %}"
    "{% endfor %}"
    "{% if add_generation_prompt %}{{ 'Assistant:' }}{% endif %}";

class ChatTemplate {
 public:
  // The family of a template in Jinja; "" is plain. Throws UsageError if it has the marks of none.
  explicit ChatTemplate(std::string_view jinja = {});

  // The template that `given` names: a family's name, or a file with a template. "": the model's own.
  // Throws Error if there is no such file, UsageError if the template is of no known family.
  static ChatTemplate of(const model::LanguageModel& model, const std::string& given = {});

  ChatFamily family() const { return family_; }
  const std::string& jinja() const { return jinja_; }

  // The text of the messages, and of the mark that an answer follows, in which special tokens stand as they are
  // spelled: what a reader sees, not what is encoded.
  std::string text(const std::vector<Message>& messages) const;

  // The ids of the same. `begin_token` comes first where the family begins with one.
  std::vector<std::int32_t> encode(const std::vector<Message>& messages, const text::Tokenizer& tokenizer,
                                   std::optional<std::int32_t> begin_token) const;

  // Tokens that end an answer, of those that the tokenizer has; besides the model's end tokens.
  std::vector<std::int32_t> end_tokens(const text::Tokenizer& tokenizer) const;

  // Texts that end an answer.
  std::vector<std::string> stops() const;

  // Whether the first word of an answer brings the space behind the mark along.
  bool answer_begins_with_space() const { return family_ == ChatFamily::plain || family_ == ChatFamily::llama2; }

 private:
  struct Part {
    std::string text;
    bool is_mark;  // its special tokens count
  };
  std::vector<Part> parts(const std::vector<Message>& messages) const;

  ChatFamily family_ = ChatFamily::plain;
  std::string jinja_;
  std::string default_system_;  // ChatML: the system message of a conversation that has none
};

}  // namespace crope::infer
