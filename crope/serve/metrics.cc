#include "crope/serve/metrics.h"

#include <fmt/format.h>

#include <algorithm>

#include "crope/base/memory.h"

namespace crope::serve {
namespace {

std::string head_of(const std::string& name, const char* type, const std::string& help) {
  return fmt::format("# HELP {} {}\n# TYPE {} {}\n", name, help, name, type);
}

template <typename Number>
std::string single(const std::string& name, const char* type, const std::string& help, Number value) {
  return head_of(name, type, help) + fmt::format("{} {}\n", name, value);
}

}  // namespace

void Metrics::Histogram::observe(double value) {
  ++counts[static_cast<std::size_t>(std::lower_bound(kBounds.begin(), kBounds.end(), value) - kBounds.begin())];
  sum += value;
}

std::string Metrics::Histogram::text(const std::string& name, const std::string& help) const {
  std::string lines = head_of(name, "histogram", help);
  std::int64_t total = 0;
  for (std::size_t i = 0; i < counts.size(); ++i) {
    total += counts[i];
    lines += fmt::format("{}_bucket{{le=\"{}\"}} {}\n", name,
                         i < kBounds.size() ? fmt::format("{}", kBounds[i]) : std::string("+Inf"), total);
  }
  return lines + fmt::format("{}_sum {}\n{}_count {}\n", name, sum, name, total);
}

void Metrics::count_request(const std::string& route, int status) {
  const std::lock_guard lock(mutex_);
  ++requests_[{route, status}];
}

void Metrics::observe_first_token(double seconds) {
  const std::lock_guard lock(mutex_);
  first_token_.observe(seconds);
}

void Metrics::observe_completion(double seconds) {
  const std::lock_guard lock(mutex_);
  completion_.observe(seconds);
}

void Metrics::add_tokens(std::int64_t prompt, std::int64_t completion) {
  const std::lock_guard lock(mutex_);
  prompt_tokens_ += prompt;
  completion_tokens_ += completion;
}

std::string Metrics::text(const InferenceThread::Statistics& inference, const ConnectionCounts& connections) const {
  const std::lock_guard lock(mutex_);
  std::string text = head_of("crope_requests_total", "counter", "Requests answered, by route and status.");
  for (const auto& [key, count] : requests_) {
    text += fmt::format("crope_requests_total{{route=\"{}\",status=\"{}\"}} {}\n", key.first, key.second, count);
  }
  text += single("crope_prompt_tokens_total", "counter", "Tokens of prompts.", prompt_tokens_);
  text += single("crope_completion_tokens_total", "counter", "Tokens of answers.", completion_tokens_);
  text += single("crope_prompt_tokens_computed_total", "counter", "Tokens of prompts that were computed.",
                 inference.engine.prompt_tokens);
  text += single("crope_prompt_tokens_shared_total", "counter",
                 "Tokens of prompts that were found in another sequence.", inference.engine.shared_tokens);
  text += single("crope_guessed_tokens_total", "counter", "Tokens that speculation guessed.",
                 inference.engine.guessed_tokens);
  text += single("crope_guessed_tokens_right_total", "counter", "Guessed tokens that were right.",
                 inference.engine.right_tokens);
  text += single("crope_steps_total", "counter", "Passes over the weights.", inference.steps);
  text += single("crope_prefill_seconds_total", "counter", "Time of steps that read prompts.",
                 inference.engine.prefill_seconds);
  text += single("crope_decode_seconds_total", "counter", "Time of the other steps.", inference.engine.decode_seconds);
  text += single("crope_sequences_running", "gauge", "Sequences that are decoded.", inference.running);
  text += single("crope_sequences_waiting", "gauge", "Sequences that wait for a place.", inference.waiting);
  text += single("crope_kept_tokens", "gauge", "Tokens of ended sequences whose keys and values are held in memory.",
                 inference.engine.kept_tokens);
  text += single("crope_connections_open", "gauge", "Open connections.", connections.open);
  text += single("crope_requests_answering", "gauge", "Requests that are being answered.", connections.answering);
  text += single("process_resident_memory_bytes", "gauge", "Memory of the process.", resident_memory());
  text += first_token_.text("crope_first_token_seconds", "From a request for completions to its first token.");
  return text + completion_.text("crope_completion_seconds", "From a request for completions to its last token.");
}

}  // namespace crope::serve
