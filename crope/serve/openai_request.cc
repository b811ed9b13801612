#include "crope/serve/openai_request.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "crope/base/json_fields.h"
#include "crope/serve/api_error.h"
#include "crope/serve/chat_messages.h"
#include "crope/serve/openai_response.h"

namespace crope::serve {
namespace {

[[noreturn]] void refuse(const std::string& param, const std::string& expected, const Json* got = nullptr) {
  throw ApiError(400,
                 fmt::format("{}: {}", param, got == nullptr ? "expected " + expected : expected_found(expected, got)),
                 param);
}

// The field, unless it is absent or null.
const Json* find_field(const Json& body, const char* name) {
  const auto place = body.find(name);
  return place == body.end() || place->is_null() ? nullptr : &*place;
}

std::int64_t integer_of(const Json& value, const std::string& name, std::int64_t lowest, std::int64_t highest) {
  const std::string expected = highest == std::numeric_limits<std::int64_t>::max()
                                   ? fmt::format("an integer from {}", lowest)
                                   : fmt::format("an integer from {} to {}", lowest, highest);
  std::int64_t number = 0;
  if (value.is_number_unsigned()) {
    if (value.get<std::uint64_t>() > static_cast<std::uint64_t>(highest)) refuse(name, expected, &value);
    number = value.get<std::int64_t>();
  } else if (value.is_number_integer()) {
    number = value.get<std::int64_t>();
  } else if (value.is_number_float() && std::abs(value.get<double>()) < 0x1p63 &&
             std::trunc(value.get<double>()) == value.get<double>()) {
    number = static_cast<std::int64_t>(value.get<double>());
  } else {
    refuse(name, expected, &value);
  }
  if (number < lowest || number > highest) refuse(name, expected, &value);
  return number;
}

std::int64_t integer_field(const Json& body, const char* name, std::int64_t otherwise, std::int64_t lowest,
                           std::int64_t highest = std::numeric_limits<std::int64_t>::max()) {
  const Json* value = find_field(body, name);
  return value == nullptr ? otherwise : integer_of(*value, name, lowest, highest);
}

double number_field(const Json& body, const char* name, double otherwise, const NumberRange& range) {
  const Json* value = find_field(body, name);
  if (value == nullptr) return otherwise;
  const double number = value->is_number() ? value->get<double>() : std::nan("");
  if (!(number >= range.lowest && number <= range.highest)) {
    refuse(name, fmt::format("a number from {} to {}", range.lowest, range.highest), value);
  }
  return number;
}

bool flag_field(const Json& body, const char* name, bool otherwise) {
  const Json* value = find_field(body, name);
  if (value == nullptr) return otherwise;
  if (!value->is_boolean()) refuse(name, "true or false", value);
  return value->get<bool>();
}

const text::Tokenizer& require_tokenizer(const RequestContext& context, const char* param) {
  if (context.tokenizer != nullptr) return *context.tokenizer;
  throw ApiError(400, fmt::format("{}: this model has no tokenizer: give token ids", param), param);
}

std::vector<std::int32_t> ids_of(const Json& list, const std::string& name, std::int64_t count) {
  std::vector<std::int32_t> ids;
  ids.reserve(list.size());
  for (std::size_t i = 0; i < list.size(); ++i) {
    ids.push_back(static_cast<std::int32_t>(integer_of(list[i], fmt::format("{}[{}]", name, i), 0, count - 1)));
  }
  return ids;
}

std::string text_of_ids(const std::vector<std::int32_t>& ids, const RequestContext& context) {
  if (context.tokenizer == nullptr) return {};
  std::string text;
  for (const std::int32_t id : ids) {
    if (id < context.tokenizer->vocab_size()) text += context.tokenizer->token_bytes(id);
  }
  return text;
}

Prompt prompt_of(const Json& json, const RequestContext& context) {
  Prompt prompt;
  if (json.is_string()) {
    prompt.text = json.get<std::string>();
    if (!prompt.text.empty()) prompt.ids = require_tokenizer(context, "prompt").encode_with_special(prompt.text);
  } else if (json.is_array()) {
    prompt.ids = ids_of(json, "prompt", context.vocab_size);
    prompt.text = text_of_ids(prompt.ids, context);
  } else {
    refuse("prompt", "a text, a list of texts, a list of token ids, or a list of such lists", &json);
  }
  if (prompt.ids.empty()) {
    if (!context.begin_token) refuse("prompt", "at least one token");
    prompt.ids.push_back(*context.begin_token);
  }
  return prompt;
}

std::vector<Prompt> prompts_of(const Json& body, const RequestContext& context) {
  const Json* json = find_field(body, "prompt");
  if (json == nullptr) refuse("prompt", "a text, a list of texts, a list of token ids, or a list of such lists");
  const bool is_list = json->is_array() && !json->empty() && !(*json)[0].is_number();
  if (!is_list) return {prompt_of(*json, context)};
  if (static_cast<std::int64_t>(json->size()) > context.max_choices) {
    refuse("prompt", fmt::format("at most {} prompts", context.max_choices));
  }
  std::vector<Prompt> prompts;
  for (const Json& each : *json) prompts.push_back(prompt_of(each, context));
  return prompts;
}

std::vector<std::string> stops_of(const Json& body) {
  const Json* value = find_field(body, "stop");
  if (value == nullptr) return {};
  const std::string expected =
      fmt::format("a text, or a list of at most {} texts, of 1 to {} characters", kMostStops, kLongestStop);
  std::vector<std::string> stops;
  if (value->is_string()) {
    stops.push_back(value->get<std::string>());
  } else if (value->is_array() && value->size() <= kMostStops) {
    for (const Json& each : *value) {
      if (!each.is_string()) refuse("stop", expected, &each);
      stops.push_back(each.get<std::string>());
    }
  } else {
    refuse("stop", expected, value);
  }
  for (const std::string& stop : stops) {
    if (stop.empty() || count_characters(stop) > kLongestStop) refuse("stop", expected);
  }
  return stops;
}

infer::SamplingOptions sampling_of(const Json& body, const RequestContext& context) {
  infer::SamplingOptions sampling;
  sampling.temperature = number_field(body, "temperature", 1, kTemperatures);
  sampling.top_p = number_field(body, "top_p", 1, kProbabilities);
  if (sampling.top_p == 0) sampling = {.temperature = 0};  // the most likely token alone
  sampling.top_k = std::max<std::int64_t>(integer_field(body, "top_k", 0, -1), 0);
  sampling.min_p = number_field(body, "min_p", 0, kProbabilities);
  sampling.repetition_penalty = number_field(body, "repetition_penalty", 1, kRepetitionPenalties);
  const std::int64_t seed =
      integer_field(body, "seed", static_cast<std::int64_t>(context.seed), std::numeric_limits<std::int64_t>::min());
  sampling.seed = static_cast<std::uint64_t>(seed);
  return sampling;
}

// Fields of OpenAI's API that would change the answer, where they have a value that we do not support.
void refuse_unsupported(const Json& body) {
  for (const char* name : {"presence_penalty", "frequency_penalty"}) {
    if (number_field(body, name, 0, {-2, 2}) != 0) refuse(name, "0: this server has repetition_penalty instead");
  }
  for (const char* name : {"logit_bias", "suffix", "tools", "functions"}) {
    const Json* value = find_field(body, name);
    if (value != nullptr && value->is_string() ? !value->get_ref<const std::string&>().empty()
                                               : value != nullptr && !value->empty()) {
      refuse(name, "nothing: this server does not support it");
    }
  }
  const Json* format = find_field(body, "response_format");
  if (format != nullptr && (!format->is_object() || !format->contains("type") || (*format)["type"] != "text")) {
    refuse("response_format", "{\"type\": \"text\"}", format);
  }
}

void read_common_fields(const Json& body, const RequestContext& context, CompletionRequest& request) {
  const Json* model = find_field(body, "model");
  if (model != nullptr && !model->is_string()) refuse("model", "a name", model);
  refuse_unsupported(body);
  request.n = integer_field(body, "n", 1, 1, context.max_choices);
  request.sampling = sampling_of(body, context);
  request.stop = stops_of(body);
  if (!request.stop.empty()) require_tokenizer(context, "stop");
  request.ignore_eos = flag_field(body, "ignore_eos", false);
  request.return_token_ids = flag_field(body, "return_token_ids", false);
  request.stream = flag_field(body, "stream", false);
  const Json* options = find_field(body, "stream_options");
  if (options == nullptr) return;
  if (!options->is_object()) refuse("stream_options", "an object", options);
  request.include_usage = flag_field(*options, "include_usage", false);
}

void check_sizes(const CompletionRequest& request, const RequestContext& context) {
  const auto prompts = static_cast<std::int64_t>(request.prompts.size());
  if (prompts > context.max_choices / request.n) {
    refuse("n", fmt::format("at most {} answers in one request, got {} prompts with {} each", context.max_choices,
                            prompts, request.n));
  }
  // A token behind the window can still be predicted, and so scored.
  const bool only_scores = request.echo && request.logprobs >= 0 && request.max_tokens <= 1;
  const std::int64_t longest = context.window + (only_scores ? 1 : 0);
  for (const Prompt& prompt : request.prompts) {
    const auto size = static_cast<std::int64_t>(prompt.ids.size());
    if (size <= longest) continue;
    throw ApiError(400, fmt::format("a prompt of {} tokens: this model's window has {}", size, context.window),
                   request.is_chat ? "messages" : "prompt", "context_length_exceeded");
  }
  if (request.logprobs < 0) return;
  std::int64_t tokens = 0;
  for (const Prompt& prompt : request.prompts) {
    const auto size = static_cast<std::int64_t>(prompt.ids.size());
    tokens += (request.echo ? size : 0) + std::min(request.max_tokens, std::max<std::int64_t>(longest + 1 - size, 0));
  }
  const std::int64_t scores = tokens * request.n * (1 + request.logprobs);
  if (scores <= kMostScores) return;
  throw ApiError(400,
                 fmt::format("this asks for up to {} log-probabilities ({} answers to each prompt, {} tokens, {} for "
                             "each token): at most {} are given in one answer; set a smaller max_tokens, n or logprobs",
                             scores, request.n, tokens, 1 + request.logprobs, kMostScores),
                 "logprobs", "too_many_logprobs");
}

}  // namespace

Json parse_body(std::string_view body) {
  if (body.empty()) throw ApiError(400, "the body is empty: expected a JSON object");
  Json json = parse_json(body, "the body");
  if (!json.is_object()) throw ApiError(400, "the body: expected a JSON object");
  return json;
}

CompletionRequest completion_request(const Json& body, const RequestContext& context) {
  CompletionRequest request;
  read_common_fields(body, context, request);
  request.echo = flag_field(body, "echo", false);
  request.max_tokens = integer_field(body, "max_tokens", 16, 0);
  request.logprobs = integer_field(body, "logprobs", -1, 0, kMostLogprobs);
  const std::int64_t best_of = integer_field(body, "best_of", request.n, 1, context.max_choices);
  if (best_of != request.n) refuse("best_of", "the same as n");
  request.prompts = prompts_of(body, context);
  check_sizes(request, context);
  return request;
}

namespace {

Prompt chat_prompt(const Json& messages, const RequestContext& context) {
  const text::Tokenizer& tokenizer = require_tokenizer(context, "messages");
  if (context.chat == nullptr) {
    throw ApiError(400, "this model's chat template is of no known family, and the server was given no other",
                   "messages");
  }
  const std::vector<infer::Message> conversation = messages_from_json(messages);
  return {.ids = context.chat->encode(conversation, tokenizer, context.begin_token),
          .text = context.chat->text(conversation)};
}

}  // namespace

CompletionRequest chat_request(const Json& body, const RequestContext& context) {
  CompletionRequest request;
  request.is_chat = true;
  read_common_fields(body, context, request);
  const std::int64_t max_tokens = integer_field(body, "max_tokens", context.window, 0);
  request.max_tokens = integer_field(body, "max_completion_tokens", max_tokens, 0);
  const std::int64_t top = integer_field(body, "top_logprobs", 0, 0, kMostLogprobs);
  if (flag_field(body, "logprobs", false)) {
    request.logprobs = top;
  } else if (top > 0) {
    refuse("top_logprobs", "\"logprobs\": true beside it");
  }
  const Json* messages = find_field(body, "messages");
  if (messages == nullptr) refuse("messages", "a list of at least one message");
  request.prompts.push_back(chat_prompt(*messages, context));
  for (std::string& stop : context.chat->stops()) request.stop.push_back(std::move(stop));
  request.end_tokens = context.chat->end_tokens(*context.tokenizer);
  check_sizes(request, context);
  return request;
}

std::vector<std::int32_t> tokenize_request(const Json& body, const RequestContext& context) {
  const text::Tokenizer& tokenizer = require_tokenizer(context, "prompt");
  flag_field(body, "add_special_tokens", false);
  const Json *messages = find_field(body, "messages"), *prompt = find_field(body, "prompt");
  if (prompt == nullptr ? messages == nullptr : !prompt->is_string()) refuse("prompt", "a text", prompt);
  if (messages != nullptr) return chat_prompt(*messages, context).ids;
  return tokenizer.encode_with_special(prompt->get_ref<const std::string&>());
}

std::vector<std::int32_t> detokenize_request(const Json& body, const RequestContext& context) {
  const text::Tokenizer& tokenizer = require_tokenizer(context, "tokens");
  const Json* tokens = find_field(body, "tokens");
  if (tokens == nullptr || !tokens->is_array()) refuse("tokens", "a list of token ids", tokens);
  return ids_of(*tokens, "tokens", tokenizer.vocab_size());
}

}  // namespace crope::serve
