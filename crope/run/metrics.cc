#include "crope/run/metrics.h"

#include <fmt/format.h>

#include <cmath>
#include <limits>

#include "crope/formats/jsonl.h"
#include "crope/run/run_dir.h"

namespace crope::run {
namespace {

constexpr std::string_view kOtherLoss = "val_loss_";

}  // namespace

std::optional<double> MetricsLine::number(const char* field) const {
  const auto found = fields.find(field);
  if (found == fields.end()) return std::nullopt;
  const double value = found->is_number() ? found->get<double>() : NAN;
  return std::isfinite(value) ? value : std::numeric_limits<double>::quiet_NaN();
}

std::map<std::string, double> MetricsLine::other_losses() const {
  std::map<std::string, double> losses;
  for (const auto& [key, value] : fields.items()) {
    const bool is_loss = key.starts_with(kOtherLoss) && value.is_number() && std::isfinite(value.get<double>());
    if (is_loss) losses[key.substr(kOtherLoss.size())] = value.get<double>();
  }
  return losses;
}

std::optional<MetricsLine> parse_metrics_line(std::string_view text) {
  Json fields = Json::parse(text, nullptr, /*allow_exceptions=*/false);
  if (!fields.is_object() || !fields.contains("step") || !fields["step"].is_number_integer()) return std::nullopt;
  const auto step = fields["step"].get<std::int64_t>();
  return MetricsLine{.step = step, .fields = std::move(fields)};
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
