// Every route of the server, from request to answer. Knows no sockets.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "crope/infer/chat_template.h"
#include "crope/model/language_model.h"
#include "crope/serve/api_key.h"
#include "crope/serve/http_message.h"
#include "crope/serve/inference_thread.h"
#include "crope/serve/metrics.h"

namespace crope::serve {

struct ApiOptions {
  std::string name = "crope";  // of the model, in answers
  std::optional<ApiKey> key;   // without one everybody is served
  InferenceOptions inference = {};
  std::chrono::milliseconds request_time{600'000};                  // from a request for completions to its last token
  std::int64_t max_choices = 256;                                   // of one request
  std::optional<infer::ChatTemplate> chat = infer::ChatTemplate();  // without one chat completions are refused
};

struct ApiState;

// Called by any number of threads at once.
class Api {
 public:
  // The model must outlive it.
  Api(const model::LanguageModel& model, ApiOptions options);
  ~Api();

  // Does not wait for the model, and does not throw. The Api must outlive a late answer.
  HttpResponse answer(const HttpRequest& request);

  // Refuses new requests for completions from now on (503); running ones continue.
  void drain();

  // Sets where /metrics reads the number of connections.
  void count_connections_by(std::function<ConnectionCounts()> counts);

 private:
  std::unique_ptr<ApiState> state_;
};

}  // namespace crope::serve
