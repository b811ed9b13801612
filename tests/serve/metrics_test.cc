#include "crope/serve/metrics.h"

#include <gtest/gtest.h>

namespace crope::serve {
namespace {

TEST(Metrics, AreTextThatPrometheusReads) {
  Metrics metrics;
  metrics.count_request("/health", 200);
  metrics.count_request("/health", 200);
  metrics.count_request("/v1/completions", 400);
  metrics.observe_first_token(0.02);
  metrics.observe_first_token(1000);
  metrics.add_tokens(7, 3);
  const std::string text = metrics.text({.running = 4, .waiting = 2}, {.open = 9});
  for (const char* line :
       {"# TYPE crope_requests_total counter\n", "crope_requests_total{route=\"/health\",status=\"200\"} 2\n",
        "crope_requests_total{route=\"/v1/completions\",status=\"400\"} 1\n", "crope_prompt_tokens_total 7\n",
        "crope_completion_tokens_total 3\n", "crope_sequences_running 4\n", "crope_connections_open 9\n",
        "crope_first_token_seconds_bucket{le=\"0.01\"} 0\n", "crope_first_token_seconds_bucket{le=\"0.025\"} 1\n",
        "crope_first_token_seconds_bucket{le=\"60\"} 1\n", "crope_first_token_seconds_bucket{le=\"+Inf\"} 2\n",
        "crope_first_token_seconds_count 2\n", "crope_first_token_seconds_sum 1000.02\n"}) {
    EXPECT_NE(text.find(line), std::string::npos) << line << "in\n" << text;
  }
}

}  // namespace
}  // namespace crope::serve
