// The counters of the server, in Prometheus' format.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <mutex>
#include <string>
#include <utility>

#include "crope/serve/inference_thread.h"

namespace crope::serve {

struct ConnectionCounts {
  std::size_t open = 0;
  std::size_t answering = 0;  // requests
};

// Safe for concurrent use.
class Metrics {
 public:
  void count_request(const std::string& route, int status);

  // Seconds from a request for completions to its first token, and to its last.
  void observe_first_token(double seconds);
  void observe_completion(double seconds);

  void add_tokens(std::int64_t prompt, std::int64_t completion);

  std::string text(const InferenceThread::Statistics& inference, const ConnectionCounts& connections) const;

 private:
  static constexpr std::array kBounds = {0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0, 60.0};
  struct Histogram {
    std::array<std::int64_t, kBounds.size() + 1> counts = {};  // the last: above all bounds
    double sum = 0;

    void observe(double value);
    std::string text(const std::string& name, const std::string& help) const;
  };

  mutable std::mutex mutex_;
  std::map<std::pair<std::string, int>, std::int64_t> requests_;
  Histogram first_token_;
  Histogram completion_;
  std::int64_t prompt_tokens_ = 0;
  std::int64_t completion_tokens_ = 0;
};

}  // namespace crope::serve
