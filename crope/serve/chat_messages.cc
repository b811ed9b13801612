#include "crope/serve/chat_messages.h"

#include <fmt/format.h>

#include "crope/serve/api_error.h"

namespace crope::serve {
namespace {

infer::Role role_of(const Json& message, std::size_t place) {
  const auto role = message.find("role");
  if (role != message.end() && role->is_string()) {
    const auto& name = role->get_ref<const std::string&>();
    if (name == "system" || name == "developer") return infer::Role::system;
    if (name == "user") return infer::Role::user;
    if (name == "assistant") return infer::Role::assistant;
  }
  throw ApiError(400, fmt::format("messages[{}].role: expected system, developer, user or assistant", place),
                 "messages");
}

std::string content_of(const Json& message, std::size_t place) {
  const auto content = message.find("content");
  if (content != message.end() && content->is_string()) return content->get<std::string>();
  if (content == message.end() || !content->is_array()) {
    throw ApiError(400, fmt::format("messages[{}].content: expected a text or a list of texts", place), "messages");
  }
  std::string text;
  for (const Json& part : *content) {
    const bool is_text = part.is_object() && part.contains("type") && part["type"] == "text" && part.contains("text") &&
                         part["text"].is_string();
    if (!is_text) {
      throw ApiError(400, fmt::format("messages[{}].content: this model reads parts of type \"text\" only", place),
                     "messages");
    }
    text += part["text"].get_ref<const std::string&>();
  }
  return text;
}

}  // namespace

std::vector<infer::Message> messages_from_json(const Json& json) {
  if (!json.is_array() || json.empty()) {
    throw ApiError(400, "messages: expected a list of at least one message", "messages");
  }
  std::vector<infer::Message> messages;
  for (std::size_t i = 0; i < json.size(); ++i) {
    if (!json[i].is_object()) throw ApiError(400, fmt::format("messages[{}]: expected an object", i), "messages");
    messages.push_back({role_of(json[i], i), content_of(json[i], i)});
  }
  return messages;
}

}  // namespace crope::serve
