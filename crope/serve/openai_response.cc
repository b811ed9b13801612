#include "crope/serve/openai_response.h"

#include <fmt/format.h>

#include "crope/base/utf8.h"

namespace crope::serve {
namespace {

using infer::FinishReason;

Json number_or_null(const std::optional<double>& value) {
  return value ? Json(*value) : Json();
}

// {"tokens", "token_logprobs", "top_logprobs", "text_offset"}. The token itself is always among the top ones.
Json completion_logprobs(const AnswerStyle& style, const ChoicePiece& piece) {
  Json tokens = Json::array(), values = Json::array(), tops = Json::array(), offsets = Json::array();
  std::int64_t offset = piece.text_offset;
  for (const TokenRecord& token : piece.tokens) {
    const std::string name = token_name(token.id, style.tokenizer);
    tokens.push_back(name);
    values.push_back(number_or_null(token.log_probability));
    offsets.push_back(offset);
    offset += token_characters(token.id, style.tokenizer);
    if (!token.log_probability) {
      tops.push_back(nullptr);
      continue;
    }
    Json top = Json::object();
    for (const infer::TokenProbability& each : token.top) {
      top[token_name(each.id, style.tokenizer)] = each.log_probability;
    }
    top[name] = *token.log_probability;
    tops.push_back(std::move(top));
  }
  return {{"tokens", tokens}, {"token_logprobs", values}, {"top_logprobs", tops}, {"text_offset", offsets}};
}

Json chat_token(std::int32_t id, const std::optional<double>& log_probability, const AnswerStyle& style) {
  Json bytes;
  if (style.tokenizer != nullptr && id < style.tokenizer->vocab_size()) {
    bytes = Json::array();
    for (const char byte : style.tokenizer->token_bytes(id)) bytes.push_back(static_cast<unsigned char>(byte));
  }
  return {{"token", token_name(id, style.tokenizer)},
          {"logprob", number_or_null(log_probability)},
          {"bytes", std::move(bytes)}};
}

Json chat_logprobs(const AnswerStyle& style, const ChoicePiece& piece) {
  Json content = Json::array();
  for (const TokenRecord& token : piece.tokens) {
    if (!token.id) continue;
    Json entry = chat_token(*token.id, token.log_probability, style);
    Json top = Json::array();
    for (const infer::TokenProbability& each : token.top) {
      top.push_back(chat_token(each.id, each.log_probability, style));
    }
    entry["top_logprobs"] = std::move(top);
    content.push_back(std::move(entry));
  }
  return {{"content", std::move(content)}, {"refusal", nullptr}};
}

Json logprobs_json(const AnswerStyle& style, const ChoicePiece& piece) {
  if (!style.has_logprobs) return {};
  return style.is_chat ? chat_logprobs(style, piece) : completion_logprobs(style, piece);
}

Json choice_json(const AnswerStyle& style, const ChoicePiece& piece, Json content) {
  Json choice = {{"index", piece.index}};
  for (auto& [key, value] : content.items()) choice[key] = value;
  choice["logprobs"] = logprobs_json(style, piece);
  choice["finish_reason"] = finish_json(piece.finish);
  if (style.has_token_ids) choice["token_ids"] = piece.new_ids;
  return choice;
}

Json envelope(const AnswerStyle& style, const char* chat_object) {
  return {{"id", style.id},
          {"object", style.is_chat ? chat_object : "text_completion"},
          {"created", style.created},
          {"model", style.model},
          {"choices", Json::array()}};
}

Json usage_json(const Usage& usage) {
  return {{"prompt_tokens", usage.prompt_tokens},
          {"completion_tokens", usage.completion_tokens},
          {"total_tokens", usage.prompt_tokens + usage.completion_tokens}};
}

}  // namespace

std::string token_name(std::optional<std::int32_t> id, const text::Tokenizer* tokenizer) {
  if (!id) return "";
  if (tokenizer == nullptr || *id >= tokenizer->vocab_size()) return fmt::format("token_id:{}", *id);
  const std::string_view bytes = tokenizer->token_bytes(*id);
  if (valid_utf8_prefix(bytes) == bytes.size()) return std::string(bytes);
  std::string name = "bytes:";
  for (const char byte : bytes) name += fmt::format("\\x{:02x}", static_cast<unsigned char>(byte));
  return name;
}

std::int64_t count_characters(std::string_view text) {
  std::int64_t count = 0;
  for (const char byte : text) count += (static_cast<unsigned char>(byte) & 0xC0) != 0x80 ? 1 : 0;
  return count;
}

std::int64_t token_characters(std::optional<std::int32_t> id, const text::Tokenizer* tokenizer) {
  if (!id || tokenizer == nullptr || *id >= tokenizer->vocab_size()) return 0;
  return count_characters(tokenizer->token_bytes(*id));
}

Json finish_json(FinishReason reason) {
  switch (reason) {
    case FinishReason::stop:
    case FinishReason::end_token:
      return "stop";
    case FinishReason::length:
    case FinishReason::window:
      return "length";
    case FinishReason::none:
    case FinishReason::memory:  // an error, not an answer
      break;
  }
  return {};
}

Json answer_json(const AnswerStyle& style, std::span<const ChoicePiece> choices, const Usage& usage) {
  Json json = envelope(style, "chat.completion");
  for (const ChoicePiece& choice : choices) {
    Json content = style.is_chat
                       ? Json{{"message", {{"role", "assistant"}, {"content", choice.text}, {"refusal", nullptr}}}}
                       : Json{{"text", choice.text}};
    json["choices"].push_back(choice_json(style, choice, std::move(content)));
  }
  json["usage"] = usage_json(usage);
  return json;
}

Json chunk_json(const AnswerStyle& style, const ChoicePiece& piece, bool is_first) {
  Json json = envelope(style, "chat.completion.chunk");
  Json content = {{"text", piece.text}};
  if (style.is_chat) {
    Json delta = Json::object();
    if (is_first) delta["role"] = "assistant";
    if (is_first || !piece.text.empty()) delta["content"] = piece.text;
    content = {{"delta", std::move(delta)}};
  }
  json["choices"].push_back(choice_json(style, piece, std::move(content)));
  return json;
}

Json usage_chunk_json(const AnswerStyle& style, const Usage& usage) {
  Json json = envelope(style, "chat.completion.chunk");
  json["usage"] = usage_json(usage);
  return json;
}

}  // namespace crope::serve
