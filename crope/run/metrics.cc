#include "crope/run/metrics.h"

#include <fmt/format.h>

#include <cmath>
#include <limits>

#include "crope/base/error.h"
#include "crope/formats/jsonl.h"
#include "crope/run/run_dir.h"

namespace crope::run {
namespace {

constexpr std::string_view kOtherLoss = "val_loss_";
constexpr double kLargestWhole = 9007199254740992.0;  // 2^53: a double holds every whole number up to it

double finite_or_nan(const Json& value) {
  const double number = value.is_number() ? value.get<double>() : NAN;
  return std::isfinite(number) ? number : std::numeric_limits<double>::quiet_NaN();
}

// The text with null in place of NaN, Infinity and -Infinity outside strings.
std::string without_bare_constants(std::string_view text) {
  std::string result;
  bool in_string = false;
  for (std::size_t i = 0; i < text.size();) {
    if (!in_string && (text[i] == 'N' || text[i] == 'I' || text[i] == '-')) {
      std::size_t length = 0;
      for (const std::string_view word : {"NaN", "Infinity", "-Infinity"}) {
        if (text.substr(i).starts_with(word)) length = word.size();
      }
      if (length > 0) {
        result += "null";
        i += length;
        continue;
      }
    }
    if (in_string && text[i] == '\\' && i + 1 < text.size())
      result += text[i++];
    else if (text[i] == '"')
      in_string = !in_string;
    result += text[i++];
  }
  return result;
}

std::optional<std::int64_t> whole_number(const Json& value) {
  if (value.is_number_integer()) return value.get<std::int64_t>();
  if (!value.is_number_float()) return {};
  const double number = value.get<double>();
  if (number != std::floor(number) || std::abs(number) > kLargestWhole) return {};
  return static_cast<std::int64_t>(number);
}

Json parsed_or_null(std::string_view text) {
  try {
    return parse_json(text, kMetricsFile);
  } catch (const Error&) {
    return nullptr;
  }
}

}  // namespace

std::optional<double> MetricsLine::number(const char* field) const {
  const auto found = fields.find(field);
  if (found == fields.end()) return std::nullopt;
  return finite_or_nan(*found);
}

std::map<std::string, double> MetricsLine::other_losses() const {
  std::map<std::string, double> losses;
  for (const auto& [key, value] : fields.items()) {
    if (key.starts_with(kOtherLoss)) losses[key.substr(kOtherLoss.size())] = finite_or_nan(value);
  }
  return losses;
}

std::optional<MetricsLine> parse_metrics_line(std::string_view text) {
  Json fields = parsed_or_null(text);
  if (fields.is_null()) fields = parsed_or_null(without_bare_constants(text));
  if (!fields.is_object() || !fields.contains("step")) return std::nullopt;
  const auto step = whole_number(fields["step"]);
  if (!step) return std::nullopt;
  return MetricsLine{.step = *step, .fields = std::move(fields)};
}

std::string Metrics::warning() const {
  if (damaged == 0) return {};
  return fmt::format("skipped {} damaged line{} of {}, the first is line {}", damaged, damaged == 1 ? "" : "s",
                     kMetricsFile, first_damaged);
}

Metrics read_metrics(const std::filesystem::path& path) {
  Metrics metrics;
  formats::LineReader lines(formats::InputStream::open(path.string()));
  while (const auto text = lines.next()) {
    if (text->empty()) continue;
    if (auto line = parse_metrics_line(*text)) {
      metrics.lines.push_back(std::move(*line));
    } else if (metrics.damaged++ == 0) {
      metrics.first_damaged = lines.line_number();
    }
  }
  return metrics;
}

}  // namespace crope::run
