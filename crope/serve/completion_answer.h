// Answers to requests for completions, whole or as a stream of events.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <string>

#include "crope/model/language_model.h"
#include "crope/serve/http_message.h"
#include "crope/serve/inference_thread.h"
#include "crope/serve/metrics.h"
#include "crope/serve/openai_request.h"

namespace crope::serve {

// The parts of the server that answers use. It and all that it refers to outlive every answer.
struct CompletionHost {
  const model::LanguageModel& model;
  std::string name;                // of the model, in answers
  std::chrono::milliseconds time;  // from a request to its last token
  InferenceThread& inference;
  Metrics& metrics;
};

// Seeds of sampling and numbers of answers: other ones in every run and thread.
std::uint64_t random_bits();

// A late answer, which calls `wake` whenever more of it is ready. Throws as InferenceThread::submit does.
HttpResponse completion_answer(const CompletionHost& host, const CompletionRequest& request,
                               const std::function<void()>& wake);

}  // namespace crope::serve
