// Every route of the server, from request to answer. Knows no sockets.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "crope/infer/chat_template.h"
#include "crope/model/language_model.h"
#include "crope/serve/api_key.h"
#include "crope/serve/completion_run.h"
#include "crope/serve/http_message.h"
#include "crope/serve/inference_thread.h"
#include "crope/serve/metrics.h"
#include "crope/serve/run_view.h"

namespace crope::serve {

struct ApiOptions {
  std::string name = "crope";  // of the model, in answers
  std::optional<ApiKey> key;   // without one everybody is served
  InferenceOptions inference = {};
  std::chrono::milliseconds request_time{600'000};                  // from a request for completions to its last token
  std::int64_t max_choices = 256;                                   // of one request
  std::optional<infer::ChatTemplate> chat = infer::ChatTemplate();  // without one chat completions are refused
};

// Called by any number of threads at once.
class Api {
 public:
  // The model must outlive it.
  Api(const model::LanguageModel& model, ApiOptions options);

  // Does not wait for the model, and does not throw. The Api must outlive a late answer.
  HttpResponse answer(const HttpRequest& request);

  // Refuses new requests for completions from now on (503); running ones continue.
  void drain() { inference_.stop_admitting(); }

  // Sets where /metrics reads the number of connections.
  void count_connections_by(std::function<ConnectionCounts()> counts) { connection_counts_ = std::move(counts); }

 private:
  struct Route;
  struct Progress;

  static const Route* find_route(const std::string& method, const std::string& path);

  HttpResponse dispatch(const HttpRequest& request, const Route*& route);
  RequestContext request_context() const;

  HttpResponse page(const HttpRequest&);
  HttpResponse health(const HttpRequest&);
  HttpResponse metrics(const HttpRequest&);
  HttpResponse description(const HttpRequest&);
  HttpResponse models(const HttpRequest&);
  HttpResponse tokenizer_info(const HttpRequest&);
  HttpResponse tokenize(const HttpRequest& request);
  HttpResponse detokenize(const HttpRequest& request);
  HttpResponse completions(const HttpRequest& request);
  HttpResponse chat_completions(const HttpRequest& request);
  HttpResponse model_info(const HttpRequest&);
  HttpResponse attention(const HttpRequest& request);
  HttpResponse run_losses(const HttpRequest& request);

  HttpResponse complete(const HttpRequest& http, const CompletionRequest& request);
  bool advance(Progress& progress, HttpResponse& response);

  const text::Tokenizer* tokenizer() const { return model_.tokenizer_or_null(); }

  const model::LanguageModel& model_;
  const ApiOptions options_;
  const std::int64_t created_;  // Unix time
  Metrics metrics_;
  RunView run_;
  std::function<ConnectionCounts()> connection_counts_ = [] { return ConnectionCounts{}; };
  InferenceThread inference_;
};

}  // namespace crope::serve
