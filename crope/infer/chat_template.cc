#include "crope/infer/chat_template.h"

#include <fmt/format.h>

#include <filesystem>

#include "crope/base/error.h"
#include "crope/base/file.h"

namespace crope::infer {
namespace {

constexpr std::uint64_t kLongestGivenTemplate = 1 << 20;

bool contains(std::string_view text, std::string_view part) {
  return text.find(part) != std::string_view::npos;
}

std::optional<ChatFamily> family_of(std::string_view jinja) {
  if (jinja.empty() || jinja == kJinjaChatTemplate) return ChatFamily::plain;
  if (contains(jinja, "<|im_start|>") && contains(jinja, "<|im_end|>")) return ChatFamily::chatml;
  if (contains(jinja, "<|start_header_id|>") && contains(jinja, "<|eot_id|>")) return ChatFamily::llama3;
  if (contains(jinja, "[INST]") && contains(jinja, "<<SYS>>")) return ChatFamily::llama2;
  if (contains(jinja, "<|user|>") && contains(jinja, "<|assistant|>") && contains(jinja, "eos_token")) {
    return ChatFamily::zephyr;
  }
  return std::nullopt;
}

// The text that a ChatML template writes as the system message of a conversation without one: what stands in one
// piece between the marks, with nothing computed in it.
std::string default_system_of(std::string_view jinja) {
  constexpr std::string_view kBegin = "<|im_start|>system", kEnd = "<|im_end|>";
  for (std::size_t at = jinja.find(kBegin); at != std::string_view::npos; at = jinja.find(kBegin, at + 1)) {
    std::string_view rest = jinja.substr(at + kBegin.size());
    if (rest.starts_with("\\n")) {
      rest.remove_prefix(2);
    } else if (rest.starts_with('\n')) {
      rest.remove_prefix(1);
    } else {
      continue;
    }
    const std::string_view text = rest.substr(0, rest.find(kEnd));
    const bool is_plain = text.size() < rest.size() && text.find_first_of("{}'\"+\\") == std::string_view::npos;
    if (is_plain && !text.empty()) return std::string(text);
  }
  return {};
}

const char* role_name(Role role) {
  switch (role) {
    case Role::system:
      return "system";
    case Role::user:
      return "user";
    case Role::assistant:
      break;
  }
  return "assistant";
}

std::string trimmed(std::string_view text) {
  constexpr std::string_view kSpaces = " \t\r\n";
  const std::size_t first = text.find_first_not_of(kSpaces);
  if (first == std::string_view::npos) return {};
  return std::string(text.substr(first, text.find_last_not_of(kSpaces) - first + 1));
}

bool begins_with_token(ChatFamily family) {
  return family == ChatFamily::llama2 || family == ChatFamily::llama3;
}

}  // namespace

ChatTemplate::ChatTemplate(std::string_view jinja) : jinja_(jinja.empty() ? kJinjaChatTemplate : jinja) {
  const std::optional<ChatFamily> family = family_of(jinja);
  if (!family) {
    throw UsageError("the model's chat template is of no known family (plain, ChatML, Llama 2, Llama 3, Zephyr)",
                     "give another: a file with a template, or the name of a family");
  }
  family_ = *family;
  if (family_ == ChatFamily::chatml) default_system_ = default_system_of(jinja);
}

ChatTemplate ChatTemplate::of(const model::LanguageModel& model, const std::string& given) {
  if (given.empty()) return ChatTemplate(model.chat_template);
  for (const auto& [family, name] : ChoiceNames<ChatFamily>::kNames) {
    if (given != name) continue;
    ChatTemplate chosen;
    chosen.family_ = family;
    return chosen;
  }
  if (!std::filesystem::exists(given)) {
    throw Error(fmt::format("{}: there is no such chat template", given),
                "give a file, or plain, chatml, llama2, llama3 or zephyr");
  }
  return ChatTemplate(read_file(given, kLongestGivenTemplate));
}

std::vector<ChatTemplate::Part> ChatTemplate::parts(const std::vector<Message>& messages) const {
  std::vector<Part> parts;
  const auto mark = [&](std::string text) { parts.push_back({std::move(text), true}); };
  const auto plain = [&](std::string text) { parts.push_back({std::move(text), false}); };
  switch (family_) {
    case ChatFamily::plain:
      for (const Message& message : messages) {
        const char* name = message.role == Role::user ? "User: " : message.role == Role::assistant ? "Assistant: " : "";
        plain(name + message.content + '\n');
      }
      plain("Assistant:");
      break;
    case ChatFamily::chatml: {
      const auto turn = [&](const char* role, const std::string& content) {
        mark(fmt::format("<|im_start|>{}\n", role));
        plain(content);
        mark("<|im_end|>\n");
      };
      const bool has_system = !messages.empty() && messages.front().role == Role::system;
      if (!has_system && !default_system_.empty()) turn("system", default_system_);
      for (const Message& message : messages) turn(role_name(message.role), message.content);
      mark("<|im_start|>assistant\n");
      break;
    }
    case ChatFamily::llama3:
      for (const Message& message : messages) {
        mark(fmt::format("<|start_header_id|>{}<|end_header_id|>\n\n", role_name(message.role)));
        plain(trimmed(message.content));
        mark("<|eot_id|>");
      }
      mark("<|start_header_id|>assistant<|end_header_id|>\n\n");
      break;
    case ChatFamily::llama2: {
      // The system message stands inside of the first instruction.
      std::string system;
      bool is_first = true;
      for (const Message& message : messages) {
        if (message.role == Role::system) {
          system = "<<SYS>>\n" + message.content + "\n<</SYS>>\n\n";
        } else if (message.role == Role::user) {
          if (!is_first) mark("<s>");
          plain("[INST] " + system + trimmed(message.content) + " [/INST]");
          system.clear();
          is_first = false;
        } else {
          plain(" " + trimmed(message.content) + " ");
          mark("</s>");
        }
      }
      break;
    }
    case ChatFamily::zephyr:
      for (const Message& message : messages) {
        mark(fmt::format("<|{}|>\n", role_name(message.role)));
        plain(message.content);
        mark("</s>\n");
      }
      mark("<|assistant|>\n");
      break;
  }
  return parts;
}

std::string ChatTemplate::text(const std::vector<Message>& messages) const {
  std::string text;
  for (const Part& part : parts(messages)) text += part.text;
  return text;
}

std::vector<std::int32_t> ChatTemplate::encode(const std::vector<Message>& messages, const text::Tokenizer& tokenizer,
                                               std::optional<std::int32_t> begin_token) const {
  std::vector<std::int32_t> ids;
  if (begin_token && begins_with_token(family_)) ids.push_back(*begin_token);
  // Text between two special tokens is encoded in one piece, wherever it comes from.
  std::string pending;
  const auto flush = [&] {
    if (!pending.empty()) tokenizer.encode_append(pending, ids);
    pending.clear();
  };
  for (const Part& part : parts(messages)) {
    if (!part.is_mark) {
      pending += part.text;
      continue;
    }
    for (const text::MarkedText& piece : tokenizer.split_special(part.text)) {
      if (piece.special) {
        flush();
        ids.push_back(*piece.special);
      } else {
        pending += piece.text;
      }
    }
  }
  flush();
  return ids;
}

std::vector<std::int32_t> ChatTemplate::end_tokens(const text::Tokenizer& tokenizer) const {
  std::vector<std::int32_t> ids;
  const auto add = [&](std::string_view content) {
    for (const text::SpecialToken& special : tokenizer.vocabulary().special_tokens) {
      if (special.content == content) ids.push_back(special.id);
    }
  };
  if (family_ == ChatFamily::chatml) add("<|im_end|>");
  if (family_ == ChatFamily::llama3) add("<|eot_id|>"), add("<|eom_id|>");
  if (family_ == ChatFamily::llama2 || family_ == ChatFamily::zephyr) add("</s>");
  return ids;
}

std::vector<std::string> ChatTemplate::stops() const {
  if (family_ == ChatFamily::plain) return {"\nUser:"};
  if (family_ == ChatFamily::zephyr) return {"<|user|>"};
  return {};
}

}  // namespace crope::infer
