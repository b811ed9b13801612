#include "crope/eval/task.h"

#include <fmt/format.h>

#include <array>

namespace crope::eval {
namespace {

constexpr std::array kOutputTypes = {"multiple_choice", "loglikelihood", "generate_until", "loglikelihood_rolling"};
constexpr std::array kMetricNames = {
    "acc", "acc_norm", "exact_match", "perplexity", "word_perplexity", "byte_perplexity", "bits_per_byte"};
constexpr std::array kFilterNames = {"none", "strict-match", "flexible-extract"};

}  // namespace

const char* output_type_name(TaskKind kind) {
  return kOutputTypes.at(static_cast<std::size_t>(kind));
}

const char* metric_name(MetricId metric) {
  return kMetricNames.at(static_cast<std::size_t>(metric));
}

const char* filter_name(Filter filter) {
  return kFilterNames.at(static_cast<std::size_t>(filter));
}

bool is_higher_better(MetricId metric) {
  return metric < MetricId::perplexity;
}

std::string MetricKey::value_key() const {
  return fmt::format("{},{}", metric_name(metric), filter_name(filter));
}

std::string MetricKey::error_key() const {
  return fmt::format("{}_stderr,{}", metric_name(metric), filter_name(filter));
}

std::vector<TextPair> text_pairs(TaskKind kind, const Item& item) {
  if (kind == TaskKind::last_word) return {{item.context, item.target}};
  std::vector<TextPair> pairs;
  for (const std::string& choice : item.choices) {
    if (item.continuation) {
      pairs.push_back({item.context + choice, kTargetDelimiter + *item.continuation});
    } else {
      pairs.push_back({item.context, kTargetDelimiter + choice});
    }
  }
  return pairs;
}

}  // namespace crope::eval
