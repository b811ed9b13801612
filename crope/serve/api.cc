#include "crope/serve/api.h"

#include <fmt/format.h>

#include <charconv>
#include <ctime>
#include <random>
#include <span>

#include "crope/infer/chat_template.h"
#include "crope/serve/api_error.h"
#include "crope/serve/attention_view.h"
#include "crope/serve/model_card.h"
#include "crope/serve/openapi.h"
#include "crope/serve/web_page.h"

namespace crope::serve {
namespace {

using Clock = std::chrono::steady_clock;

double seconds_since(Clock::time_point begin) {
  return std::chrono::duration<double>(Clock::now() - begin).count();
}

std::uint64_t random_bits() {
  thread_local std::mt19937_64 generator{std::random_device{}()};
  return generator();
}

HttpResponse json_response(const Json& json, int status = 200) {
  return {.status = status, .body = to_text(json)};
}

HttpResponse error_response(const ApiError& error) {
  HttpResponse response = json_response(error_json(error), error.status());
  if (error.status() == 429 || error.status() == 503) response.headers.emplace_back("Retry-After", "1");
  if (error.status() == 401) response.headers.emplace_back("WWW-Authenticate", "Bearer");
  return response;
}

std::int64_t integer_parameter(const HttpRequest& request, const std::string& name, std::int64_t otherwise) {
  const auto place = request.parameters.find(name);
  if (place == request.parameters.end()) return otherwise;
  const std::string& text = place->second;
  std::int64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error == std::errc() && end == text.data() + text.size()) return value;
  throw ApiError(400, fmt::format("{}: expected an integer", name), name);
}

}  // namespace

struct Api::Route {
  const char* method;
  const char* path;
  HttpResponse (Api::*handler)(const HttpRequest&);
  bool is_public = false;  // needs no key
};

const Api::Route* Api::find_route(const std::string& method, const std::string& path) {
  static constexpr Route kRoutes[] = {
      {"GET", "/", &Api::page, true},
      {"GET", "/health", &Api::health, true},
      {"GET", "/openapi.json", &Api::description, true},
      {"GET", "/metrics", &Api::metrics},
      {"GET", "/v1/models", &Api::models},
      {"GET", "/tokenizer_info", &Api::tokenizer_info},
      {"POST", "/tokenize", &Api::tokenize},
      {"POST", "/detokenize", &Api::detokenize},
      {"POST", "/v1/completions", &Api::completions},
      {"POST", "/v1/chat/completions", &Api::chat_completions},
      {"GET", "/api/model", &Api::model_info},
      {"GET", "/api/run", &Api::run_losses},
      {"POST", "/api/attention", &Api::attention},
  };
  for (const Route& route : kRoutes) {
    const bool is_method = method.empty() || method == route.method || (method == "HEAD" && route.method[0] == 'G');
    if (is_method && path == route.path) return &route;
  }
  return nullptr;
}

Api::Api(const model::LanguageModel& model, ApiOptions options)
    : model_(model),
      options_(std::move(options)),
      created_(std::time(nullptr)),
      run_(model.dir),
      inference_(model.model, options_.inference) {}

RequestContext Api::request_context() const {
  return {.vocab_size = model_.model.config.vocab_size,
          .window = model_.window(),
          .tokenizer = tokenizer(),
          .begin_token = model_.begin_token,
          .max_choices = options_.max_choices,
          .seed = random_bits(),
          .chat = options_.chat ? &*options_.chat : nullptr};
}

HttpResponse Api::dispatch(const HttpRequest& request, const Route*& route) {
  route = find_route(request.method, request.path);
  const Route* other = find_route("", request.path);
  const bool is_public = other != nullptr && other->is_public;
  if (options_.key && !is_public && !options_.key->admits(request.authorization)) {
    throw ApiError(401, "a key is needed: send the header 'Authorization: Bearer <key>'", "", "invalid_api_key");
  }
  if (route != nullptr) return (this->*route->handler)(request);
  if (other == nullptr) throw ApiError(404, "there is no such path; /openapi.json lists all paths");
  HttpResponse response =
      error_response(ApiError(405, fmt::format("this path takes {}, not {}", other->method, request.method)));
  response.headers.emplace_back("Allow", other->method[0] == 'G' ? "GET, HEAD" : other->method);
  return response;
}

HttpResponse Api::answer(const HttpRequest& request) {
  const Route* route = nullptr;
  HttpResponse response;
  try {
    response = dispatch(request, route);
  } catch (...) {
    response = error_response(describe_exception(std::current_exception()));
  }
  const std::string name = route == nullptr ? "other" : route->path;
  if (!response.next || response.is_stream) {
    metrics_.count_request(name, response.status);
    return response;
  }
  response.next = [this, name, next = std::move(response.next)](HttpResponse& late) {
    bool is_complete = true;
    try {
      is_complete = next(late);
    } catch (...) {
      late = error_response(describe_exception(std::current_exception()));
    }
    if (is_complete) metrics_.count_request(name, late.status);
    return is_complete;
  };
  return response;
}

HttpResponse Api::page(const HttpRequest&) {
  return {.type = "text/html; charset=utf-8", .body = std::string(index_html())};
}

HttpResponse Api::health(const HttpRequest&) {
  return json_response({{"status", "ok"}});
}

HttpResponse Api::metrics(const HttpRequest&) {
  return {.type = "text/plain; version=0.0.4; charset=utf-8",
          .body = metrics_.text(inference_.statistics(), connection_counts_())};
}

HttpResponse Api::description(const HttpRequest&) {
  const model::ModelConfig& config = model_.model.config;
  return json_response(
      openapi_description({.config = config,
                           .tokenizer_size = tokenizer() == nullptr ? config.vocab_size : tokenizer()->vocab_size(),
                           .max_choices = options_.max_choices,
                           .needs_key = options_.key.has_value()}));
}

HttpResponse Api::models(const HttpRequest&) {
  return json_response({{"object", "list"},
                        {"data",
                         {{{"id", options_.name},
                           {"object", "model"},
                           {"created", created_},
                           {"owned_by", "crope"},
                           {"max_model_len", model_.window()}}}}});
}

HttpResponse Api::tokenizer_info(const HttpRequest&) {
  if (tokenizer() == nullptr) throw ApiError(404, "this model has no tokenizer");
  const auto name = [&](std::int32_t id) {
    return id >= 0 && id < tokenizer()->vocab_size() ? Json(tokenizer()->token_bytes(id)) : Json();
  };
  const std::int32_t end_token = model_.end_tokens.empty() ? -1 : model_.end_tokens.front();
  return json_response({{"tokenizer_class", "ByteLevelBPE"},
                        {"vocab_size", tokenizer()->vocab_size()},
                        {"model_max_length", model_.window()},
                        {"eos_token", name(end_token)},
                        {"bos_token", name(model_.begin_token.value_or(-1))},
                        {"pad_token", name(end_token)},
                        {"chat_template", options_.chat ? Json(options_.chat->jinja()) : Json()}});
}

HttpResponse Api::tokenize(const HttpRequest& request) {
  const std::vector<std::int32_t> ids = tokenize_request(parse_body(request.body), request_context());
  return json_response({{"tokens", ids}, {"count", ids.size()}, {"max_model_len", model_.window()}});
}

HttpResponse Api::detokenize(const HttpRequest& request) {
  const std::vector<std::int32_t> ids = detokenize_request(parse_body(request.body), request_context());
  return json_response({{"prompt", tokenizer()->decode(ids)}});
}

HttpResponse Api::model_info(const HttpRequest&) {
  Json card =
      model_card(model_.model.config,
                 {.name = options_.name,
                  .precision = std::string(Choice(model::weight_type(model_.model)).name()),
                  .has_tokenizer = tokenizer() != nullptr,
                  .chat = tokenizer() != nullptr && options_.chat ? std::string(Choice(options_.chat->family()).name())
                                                                  : std::string(),
                  .is_run = run_.is_run()});
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

HttpResponse Api::attention(const HttpRequest& http) {
  const AttentionRequest request = attention_request(parse_body(http.body), model_.model.config, tokenizer());
  const auto view = std::make_shared<std::optional<AttentionView>>();
  const auto task =
      inference_.post([this, request, view] { *view = attention_view(model_.model, request); }, http.wake);
  return {.next = [this, request, view, task](HttpResponse& response) {
    if (!task->done()) return false;
    response = json_response(attention_json(**view, request, tokenizer()));
    return true;
  }};
}

HttpResponse Api::run_losses(const HttpRequest& http) {
  return json_response(run_.after(integer_parameter(http, "after", 0)));
}

HttpResponse Api::completions(const HttpRequest& http) {
  return complete(http, completion_request(parse_body(http.body), request_context()));
}

HttpResponse Api::chat_completions(const HttpRequest& http) {
  return complete(http, chat_request(parse_body(http.body), request_context()));
}

struct Api::Progress {
  CompletionRequest request;
  AnswerStyle style;
  CompletionRun run;
  Clock::time_point begin;
  Clock::time_point deadline;
  std::vector<ChoicePiece> choices;  // as far as they are known, where they are not streamed
  std::vector<bool> begun;           // choices of which something has been streamed
  bool has_token = false;
};

HttpResponse Api::complete(const HttpRequest& http, const CompletionRequest& request) {
  const Clock::time_point begin = Clock::now();
  const std::size_t count = request.prompts.size() * static_cast<std::size_t>(request.n);
  auto progress = std::make_shared<Progress>(
      Progress{.request = request,
               .style = {.id = fmt::format("{}-{:016x}", request.is_chat ? "chatcmpl" : "cmpl", random_bits()),
                         .model = options_.name,
                         .created = std::time(nullptr),
                         .is_chat = request.is_chat,
                         .has_logprobs = request.logprobs >= 0,
                         .has_token_ids = request.return_token_ids,
                         .tokenizer = tokenizer()},
               .run = CompletionRun(inference_, request, tokenizer(), model_.end_tokens, http.wake),
               .begin = begin,
               .deadline = begin + options_.request_time,
               .choices = std::vector<ChoicePiece>(request.stream ? 0 : count),
               .begun = std::vector<bool>(count)});
  for (std::size_t i = 0; i < progress->choices.size(); ++i) progress->choices[i].index = i;
  HttpResponse response{.deadline = progress->deadline};
  if (request.stream) {
    response.is_stream = true;
    response.type = "text/event-stream";
    response.headers = {{"Cache-Control", "no-cache"}, {"X-Accel-Buffering", "no"}};
  }
  response.next = [this, progress](HttpResponse& late) { return advance(*progress, late); };
  return response;
}

namespace {

std::string event_text(const Json& json) {
  return "data: " + to_text(json) + "\n\n";
}

// Events of the pieces that have something to tell.
std::string piece_events(const AnswerStyle& style, const std::vector<ChoicePiece>& pieces, std::vector<bool>& begun) {
  const bool tells_all = style.has_logprobs || style.has_token_ids;
  std::string text;
  for (const ChoicePiece& piece : pieces) {
    const bool is_first = !begun[piece.index];
    begun[piece.index] = true;
    const bool says_nothing = piece.text.empty() && piece.finish == infer::FinishReason::none && !tells_all;
    if (!says_nothing || (is_first && style.is_chat)) text += event_text(chunk_json(style, piece, is_first));
  }
  return text;
}

}  // namespace

bool Api::advance(Progress& progress, HttpResponse& response) {
  const bool is_stream = progress.request.stream;
  try {
    std::vector<ChoicePiece> pieces = progress.run.next(Clock::now());
    if (!pieces.empty() && !std::exchange(progress.has_token, true)) {
      metrics_.observe_first_token(seconds_since(progress.begin));
    }
    if (is_stream) {
      response.body += piece_events(progress.style, pieces, progress.begun);
    } else {
      for (ChoicePiece& piece : pieces) append_piece(progress.choices[piece.index], std::move(piece));
    }
    if (!progress.run.done()) {
      if (Clock::now() >= progress.deadline) throw ApiError(504, "the answer took too long");
      return false;
    }
    const Usage& usage = progress.run.usage();
    metrics_.observe_completion(seconds_since(progress.begin));
    metrics_.add_tokens(usage.prompt_tokens, usage.completion_tokens);
    if (!is_stream) {
      response = json_response(answer_json(progress.style, progress.choices, usage));
    } else {
      if (progress.request.include_usage) response.body += event_text(usage_chunk_json(progress.style, usage));
      response.body += "data: [DONE]\n\n";
    }
  } catch (...) {
    const ApiError error = describe_exception(std::current_exception());
    if (is_stream) {
      response.body += event_text(error_json(error));
    } else {
      response = error_response(error);
    }
  }
  return true;
}

}  // namespace crope::serve
