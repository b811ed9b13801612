#include "crope/serve/openapi.h"

#include <limits>

#include "crope/serve/openai_request.h"

namespace crope::serve {
namespace {

Json reference(const char* name) {
  return {{"$ref", std::string("#/components/schemas/") + name}};
}

Json nullable(Json schema) {
  return {{"anyOf", {std::move(schema), {{"type", "null"}}}}};
}

Json integer(std::int64_t lowest, std::int64_t highest) {
  return {{"type", "integer"}, {"minimum", lowest}, {"maximum", highest}};
}

Json number(const NumberRange& range) {
  return {{"type", "number"}, {"minimum", range.lowest}, {"maximum", range.highest}};
}

Json list_of(Json schema) {
  return {{"type", "array"}, {"items", std::move(schema)}};
}

Json object(Json properties, Json required) {
  return {{"type", "object"}, {"properties", std::move(properties)}, {"required", std::move(required)}};
}

constexpr std::int64_t kLargest = std::numeric_limits<std::int64_t>::max();
constexpr std::int64_t kSmallest = std::numeric_limits<std::int64_t>::min();

const Json kText = {{"type", "string"}};
const Json kFlag = {{"type", "boolean"}};
const Json kAny = {{"type", "object"}};

// Fields of both kinds of completions.
Json sampling_properties(const ServedFacts& facts) {
  const Json stop = {{"type", "string"}, {"minLength", 1}, {"maxLength", kLongestStop}};
  return {{"model", nullable(kText)},
          {"n", nullable(integer(1, facts.max_choices))},
          {"temperature", nullable(number(kTemperatures))},
          {"top_p", nullable(number(kProbabilities))},
          {"top_k", nullable(integer(-1, kLargest))},
          {"min_p", nullable(number(kProbabilities))},
          {"repetition_penalty", nullable(number(kRepetitionPenalties))},
          {"seed", nullable(integer(kSmallest, kLargest))},
          {"stop", nullable({{"anyOf", {stop, {{"type", "array"}, {"maxItems", kMostStops}, {"items", stop}}}}})},
          {"stream", nullable(kFlag)},
          {"stream_options", nullable(object({{"include_usage", nullable(kFlag)}}, Json::array()))},
          {"ignore_eos", nullable(kFlag)},
          {"return_token_ids", nullable(kFlag)}};
}

Json completion_schema(const ServedFacts& facts) {
  const Json ids = {
      {"type", "array"}, {"items", integer(0, facts.config.vocab_size - 1)}, {"maxItems", facts.config.max_seq_len}};
  const Json prompts = {{"type", "array"}, {"items", {{"anyOf", {kText, ids}}}}, {"maxItems", facts.max_choices}};
  Json properties = sampling_properties(facts);
  properties["prompt"] = {{"anyOf", {kText, ids, prompts}}};
  properties["max_tokens"] = nullable(integer(0, kLargest));
  properties["logprobs"] = nullable(integer(0, kMostLogprobs));
  properties["echo"] = nullable(kFlag);
  return object(std::move(properties), {"prompt"});
}

Json messages_schema() {
  const Json part = object({{"type", {{"const", "text"}}}, {"text", kText}}, {"type", "text"});
  const Json message = object({{"role", {{"enum", {"system", "developer", "user", "assistant"}}}},
                               {"content", {{"anyOf", {kText, list_of(part)}}}}},
                              {"role", "content"});
  return {{"type", "array"}, {"items", message}, {"minItems", 1}};
}

Json chat_schema(const ServedFacts& facts) {
  Json properties = sampling_properties(facts);
  properties["messages"] = messages_schema();
  properties["max_tokens"] = nullable(integer(0, kLargest));
  properties["max_completion_tokens"] = nullable(integer(0, kLargest));
  properties["logprobs"] = nullable(kFlag);
  properties["top_logprobs"] = nullable(integer(0, kMostLogprobs));
  Json schema = object(std::move(properties), {"messages"});
  schema["anyOf"] = {{{"properties", {{"logprobs", {{"const", true}}}}}, {"required", {"logprobs"}}},
                     {{"properties", {{"top_logprobs", {{"enum", {0, nullptr}}}}}}}};
  return schema;
}

Json tokenize_schema() {
  Json schema = object(
      {{"prompt", nullable(kText)}, {"messages", nullable(messages_schema())}, {"add_special_tokens", nullable(kFlag)}},
      Json::array());
  schema["anyOf"] =
      Json::array({object({{"prompt", kText}}, {"prompt"}), object({{"messages", messages_schema()}}, {"messages"})});
  return schema;
}

Json attention_schema(const model::ModelConfig& config) {
  Json schema = object({{"text", {{"type", "string"}, {"minLength", 1}}},
                        {"ids", {{"type", "array"}, {"items", integer(0, config.vocab_size - 1)}, {"minItems", 1}}},
                        {"layer", integer(0, config.num_layers - 1)},
                        {"head", integer(0, config.num_heads - 1)}},
                       {"layer", "head"});
  schema["oneOf"] = {{{"required", {"text"}}}, {{"required", {"ids"}}}};
  return schema;
}

Json choice_schema(bool is_chat) {
  Json properties = {{"index", {{"type", "integer"}}},
                     {"logprobs", nullable(kAny)},
                     {"finish_reason", nullable({{"enum", {"stop", "length"}}})},
                     {"token_ids", list_of({{"type", "integer"}})}};
  if (is_chat) {
    properties["message"] = object({{"role", {{"const", "assistant"}}}, {"content", kText}}, {"role", "content"});
  } else {
    properties["text"] = kText;
  }
  return object(std::move(properties), {"index", is_chat ? "message" : "text", "logprobs", "finish_reason"});
}

Json answer_schema(bool is_chat) {
  return object({{"id", kText},
                 {"object", {{"const", is_chat ? "chat.completion" : "text_completion"}}},
                 {"created", {{"type", "integer"}}},
                 {"model", kText},
                 {"choices", list_of(choice_schema(is_chat))},
                 {"usage", object({{"prompt_tokens", {{"type", "integer"}}},
                                   {"completion_tokens", {{"type", "integer"}}},
                                   {"total_tokens", {{"type", "integer"}}}},
                                  {"prompt_tokens", "completion_tokens", "total_tokens"})}},
                {"id", "object", "created", "model", "choices", "usage"});
}

Json error_schema() {
  return object(
      {{"error", object({{"message", kText}, {"type", kText}, {"param", nullable(kText)}, {"code", nullable(kText)}},
                        {"message", "type", "param", "code"})}},
      {"error"});
}

Json content_of(const char* type, Json schema) {
  return {{type, {{"schema", std::move(schema)}}}};
}

// One operation. Everything may also answer with an error.
Json operation(const char* summary, Json content, Json body = {}, bool may_fail = true) {
  Json responses = {{"200", {{"description", "The answer."}, {"content", std::move(content)}}}};
  if (may_fail) {
    responses["4XX"] = {{"description", "The error: its message, type, parameter and code."},
                        {"content", content_of("application/json", reference("Error"))}};
  }
  Json json = {{"summary", summary}, {"responses", std::move(responses)}};
  if (!body.is_null()) {
    json["requestBody"] = {{"required", true}, {"content", content_of("application/json", std::move(body))}};
  }
  return json;
}

Json paths(const ServedFacts& facts) {
  const auto json = [](Json schema) { return content_of("application/json", std::move(schema)); };
  const auto answer = [&](const char* name) {
    Json content = json(reference(name));
    content["text/event-stream"] = {{"itemSchema", object({{"data", kText}}, {"data"})}};
    return content;
  };
  const Json tokens = list_of(integer(0, facts.tokenizer_size - 1));
  Json all = Json::object();
  all["/v1/completions"]["post"] =
      operation("Continue a text.", answer("CompletionAnswer"), reference("CompletionRequest"));
  all["/v1/chat/completions"]["post"] =
      operation("Answer a conversation.", answer("ChatAnswer"), reference("ChatRequest"));
  all["/v1/models"]["get"] = operation("The model that is served.", json(kAny));
  all["/tokenize"]["post"] = operation("The token ids of a text or a conversation.",
                                       json(object({{"tokens", tokens}}, {"tokens"})), tokenize_schema());
  all["/detokenize"]["post"] = operation("The text of token ids.", json(object({{"prompt", kText}}, {"prompt"})),
                                         object({{"tokens", tokens}}, {"tokens"}));
  all["/tokenizer_info"]["get"] = operation("Special tokens and the chat template.", json(kAny));
  all["/health"]["get"] = operation("Whether the server answers.", json(kAny));
  all["/metrics"]["get"] = operation("Counters in Prometheus' form.", content_of("text/plain", kText));
  all["/openapi.json"]["get"] = operation("This description.", json(kAny));
  all["/"]["get"] = operation("A page to look inside the model.", content_of("text/html", kText));
  all["/api/model"]["get"] = operation("Shape and size of the model.", json(kAny));
  all["/api/run"]["get"] = operation("The losses of the run that is served.", json(kAny));
  all["/api/run"]["get"]["parameters"] = {{{"name", "after"},
                                           {"in", "query"},
                                           {"required", false},
                                           {"schema", {{"type", "integer"}, {"format", "int64"}}}}};
  all["/api/attention"]["post"] =
      operation("The attention weights of one head on a text.", json(kAny), attention_schema(facts.config));
  return all;
}

}  // namespace

Json openapi_description(const ServedFacts& facts) {
  Json json = {{"openapi", "3.2.0"},
               {"info", {{"title", "crope serve"}, {"version", "1"}}},
               {"paths", paths(facts)},
               {"components",
                {{"schemas",
                  {{"CompletionRequest", completion_schema(facts)},
                   {"ChatRequest", chat_schema(facts)},
                   {"CompletionAnswer", answer_schema(/*is_chat=*/false)},
                   {"ChatAnswer", answer_schema(/*is_chat=*/true)},
                   {"Error", error_schema()}}}}}};
  if (facts.needs_key) {
    json["components"]["securitySchemes"] = {{"key", {{"type", "http"}, {"scheme", "bearer"}}}};
    json["security"] = {{{"key", Json::array()}}};
    for (const char* path : {"/", "/health", "/openapi.json"}) json["paths"][path]["get"]["security"] = Json::array();
  }
  return json;
}

}  // namespace crope::serve
