#include "crope/serve/api.h"

#include <fmt/format.h>

#include <charconv>
#include <ctime>

#include "crope/infer/chat_template.h"
#include "crope/serve/api_error.h"
#include "crope/serve/attention_view.h"
#include "crope/serve/completion_answer.h"
#include "crope/serve/json_response.h"
#include "crope/serve/model_card.h"
#include "crope/serve/openapi.h"
#include "crope/serve/run_view.h"
#include "crope/serve/web_page.h"

namespace crope::serve {

// What handlers share.
struct ApiState {
  ApiState(const model::LanguageModel& served, ApiOptions given)
      : model(served), options(std::move(given)), run(served.dir), inference(served.model, options.inference) {}

  const text::Tokenizer* tokenizer() const { return model.tokenizer_or_null(); }

  const model::LanguageModel& model;
  const ApiOptions options;
  const std::int64_t created = std::time(nullptr);  // Unix time
  Metrics metrics;
  RunView run;
  std::function<ConnectionCounts()> connection_counts = [] { return ConnectionCounts{}; };
  InferenceThread inference;
  const CompletionHost host = {model, options.name, options.request_time, inference, metrics};
};

namespace {

std::int64_t integer_parameter(const HttpRequest& request, const std::string& name, std::int64_t otherwise) {
  const auto place = request.parameters.find(name);
  if (place == request.parameters.end()) return otherwise;
  const std::string& text = place->second;
  std::int64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error == std::errc() && end == text.data() + text.size()) return value;
  throw ApiError(400, fmt::format("{}: expected an integer", name), name);
}

RequestContext request_context(const ApiState& api) {
  return {.vocab_size = api.model.model.config.vocab_size,
          .window = api.model.window(),
          .tokenizer = api.tokenizer(),
          .begin_token = api.model.begin_token,
          .max_choices = api.options.max_choices,
          .seed = random_bits(),
          .chat = api.options.chat ? &*api.options.chat : nullptr};
}

HttpResponse answer_page(ApiState&, const HttpRequest&) {
  return {.type = "text/html; charset=utf-8", .body = std::string(index_html())};
}

HttpResponse answer_health(ApiState&, const HttpRequest&) {
  return json_response({{"status", "ok"}});
}

HttpResponse answer_metrics(ApiState& api, const HttpRequest&) {
  return {.type = "text/plain; version=0.0.4; charset=utf-8",
          .body = api.metrics.text(api.inference.statistics(), api.connection_counts())};
}

HttpResponse answer_description(ApiState& api, const HttpRequest&) {
  const model::ModelConfig& config = api.model.model.config;
  return json_response(openapi_description(
      {.config = config,
       .tokenizer_size = api.tokenizer() == nullptr ? config.vocab_size : api.tokenizer()->vocab_size(),
       .max_choices = api.options.max_choices,
       .needs_key = api.options.key.has_value()}));
}

HttpResponse answer_models(ApiState& api, const HttpRequest&) {
  return json_response({{"object", "list"},
                        {"data",
                         {{{"id", api.options.name},
                           {"object", "model"},
                           {"created", api.created},
                           {"owned_by", "crope"},
                           {"max_model_len", api.model.window()}}}}});
}

HttpResponse answer_tokenizer_info(ApiState& api, const HttpRequest&) {
  if (api.tokenizer() == nullptr) throw ApiError(404, "this model has no tokenizer");
  const auto name = [&](std::int32_t id) {
    return id >= 0 && id < api.tokenizer()->vocab_size() ? Json(api.tokenizer()->token_bytes(id)) : Json();
  };
  const std::int32_t end_token = api.model.end_tokens.empty() ? -1 : api.model.end_tokens.front();
  return json_response({{"tokenizer_class", "ByteLevelBPE"},
                        {"vocab_size", api.tokenizer()->vocab_size()},
                        {"model_max_length", api.model.window()},
                        {"eos_token", name(end_token)},
                        {"bos_token", name(api.model.begin_token.value_or(-1))},
                        {"pad_token", name(end_token)},
                        {"chat_template", api.options.chat ? Json(api.options.chat->jinja()) : Json()}});
}

HttpResponse answer_tokenize(ApiState& api, const HttpRequest& request) {
  const std::vector<std::int32_t> ids = tokenize_request(parse_body(request.body), request_context(api));
  return json_response({{"tokens", ids}, {"count", ids.size()}, {"max_model_len", api.model.window()}});
}

HttpResponse answer_detokenize(ApiState& api, const HttpRequest& request) {
  const std::vector<std::int32_t> ids = detokenize_request(parse_body(request.body), request_context(api));
  return json_response({{"prompt", api.tokenizer()->decode(ids)}});
}

HttpResponse answer_model_info(ApiState& api, const HttpRequest&) {
  Json card =
      model_card(api.model.model.config, {.name = api.options.name,
                                          .precision = std::string(Choice(model::weight_type(api.model.model)).name()),
                                          .has_tokenizer = api.tokenizer() != nullptr,
                                          .chat = api.tokenizer() != nullptr && api.options.chat
                                                      ? std::string(Choice(api.options.chat->family()).name())
                                                      : std::string(),
                                          .is_run = api.run.is_run()});
  const CompletionRequest defaults;
  card["sampling"] = {{"temperature", defaults.sampling.temperature},
                      {"top_k", defaults.sampling.top_k},
                      {"top_p", defaults.sampling.top_p},
                      {"min_p", defaults.sampling.min_p},
                      {"repetition_penalty", defaults.sampling.repetition_penalty},
                      {"max_tokens", defaults.max_tokens},
                      {"max_logprobs", kMostLogprobs}};
  return json_response(card);
}

HttpResponse answer_attention(ApiState& api, const HttpRequest& http) {
  const AttentionRequest request = attention_request(parse_body(http.body), api.model.model.config, api.tokenizer());
  const auto view = std::make_shared<std::optional<AttentionView>>();
  const auto task =
      api.inference.post([&api, request, view] { *view = attention_view(api.model.model, request); }, http.wake);
  return {.next = [&api, request, view, task](HttpResponse& response) {
    if (!task->done()) return false;
    response = json_response(attention_json(**view, request, api.tokenizer()));
    return true;
  }};
}

HttpResponse answer_run_losses(ApiState& api, const HttpRequest& http) {
  return json_response(api.run.after(integer_parameter(http, "after", 0)));
}

HttpResponse answer_completions(ApiState& api, const HttpRequest& http) {
  return completion_answer(api.host, completion_request(parse_body(http.body), request_context(api)), http.wake);
}

HttpResponse answer_chat_completions(ApiState& api, const HttpRequest& http) {
  return completion_answer(api.host, chat_request(parse_body(http.body), request_context(api)), http.wake);
}

struct Route {
  const char* method;
  const char* path;
  HttpResponse (*handler)(ApiState&, const HttpRequest&);
  bool is_public = false;  // needs no key
};

constexpr Route kRoutes[] = {
    {"GET", "/", answer_page, true},
    {"GET", "/health", answer_health, true},
    {"GET", "/openapi.json", answer_description, true},
    {"GET", "/metrics", answer_metrics},
    {"GET", "/v1/models", answer_models},
    {"GET", "/tokenizer_info", answer_tokenizer_info},
    {"POST", "/tokenize", answer_tokenize},
    {"POST", "/detokenize", answer_detokenize},
    {"POST", "/v1/completions", answer_completions},
    {"POST", "/v1/chat/completions", answer_chat_completions},
    {"GET", "/api/model", answer_model_info},
    {"GET", "/api/run", answer_run_losses},
    {"POST", "/api/attention", answer_attention},
};

// The route of a path for a method, or for any where `method` is empty; null if there is none.
const Route* find_route(const std::string& method, const std::string& path) {
  for (const Route& route : kRoutes) {
    const bool is_method = method.empty() || method == route.method || (method == "HEAD" && route.method[0] == 'G');
    if (is_method && path == route.path) return &route;
  }
  return nullptr;
}

HttpResponse dispatch(ApiState& api, const HttpRequest& request, const Route*& route) {
  route = find_route(request.method, request.path);
  const Route* other = find_route("", request.path);
  const bool is_public = other != nullptr && other->is_public;
  if (api.options.key && !is_public && !api.options.key->admits(request.authorization)) {
    throw ApiError(401, "a key is needed: send the header 'Authorization: Bearer <key>'", "", "invalid_api_key");
  }
  if (route != nullptr) return route->handler(api, request);
  if (other == nullptr) throw ApiError(404, "there is no such path; /openapi.json lists all paths");
  HttpResponse response =
      error_response(ApiError(405, fmt::format("this path takes {}, not {}", other->method, request.method)));
  response.headers.emplace_back("Allow", other->method[0] == 'G' ? "GET, HEAD" : other->method);
  return response;
}

}  // namespace

Api::Api(const model::LanguageModel& model, ApiOptions options)
    : state_(std::make_unique<ApiState>(model, std::move(options))) {}
Api::~Api() = default;

void Api::drain() {
  state_->inference.stop_admitting();
}

void Api::count_connections_by(std::function<ConnectionCounts()> counts) {
  state_->connection_counts = std::move(counts);
}

HttpResponse Api::answer(const HttpRequest& request) {
  const Route* route = nullptr;
  HttpResponse response;
  try {
    response = dispatch(*state_, request, route);
  } catch (...) {
    response = error_response(describe_exception(std::current_exception()));
  }
  const std::string name = route == nullptr ? "other" : route->path;
  if (!response.next || response.is_stream) {
    state_->metrics.count_request(name, response.status);
    return response;
  }
  response.next = [&metrics = state_->metrics, name, next = std::move(response.next)](HttpResponse& late) {
    bool is_complete = true;
    try {
      is_complete = next(late);
    } catch (...) {
      late = error_response(describe_exception(std::current_exception()));
    }
    if (is_complete) metrics.count_request(name, late.status);
    return is_complete;
  };
  return response;
}

}  // namespace crope::serve
