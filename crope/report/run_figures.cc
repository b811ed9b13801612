#include "crope/report/run_figures.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "crope/base/progress.h"
#include "crope/report/axis.h"
#include "crope/report/bar_chart.h"
#include "crope/report/interval_chart.h"
#include "crope/report/matrix_picture.h"

namespace crope::report {
namespace {

constexpr double kFirstShare = 0.03;
constexpr std::size_t kFewestInsetPoints = 3;
constexpr std::size_t kMostMarks = 30;
constexpr int kDifferenceWidth = 700;

Series series_of(const LossCurve& curve, const Points& points, const Band& range) {
  const VariantStyle style = variant_style(curve.variant);
  return {.label = curve.label,
          .points = points,
          .color = style.color,
          .dash = style.dashed ? Dash::dashed : Dash::solid,
          .marked = points.size() <= kMostMarks,
          .band = range};
}

// The first steps fall so far that nothing else would be seen: the axis begins where they end. An inset has room above
// the curves.
std::optional<std::pair<double, double>> loss_range(const std::vector<Series>& series, bool has_inset) {
  Extent steps, shown, below_inset;
  for (const Series& each : series) {
    for (const auto& point : each.points) steps.take(point.first);
  }
  const auto take = [&](double step, double value) {
    if (step < kFirstShare * steps.high) return;
    shown.take(value);
    if (step > steps.low + kInsetLeft * steps.size()) below_inset.take(value);
  };
  for (const Series& each : series) {
    for (const auto& [step, value] : each.points) take(step, value);
    for (const BandPoint& point : each.band) {
      take(point.x, point.low);
      take(point.x, point.high);
    }
  }
  if (shown.empty() || shown.size() <= 0) return {};
  if (has_inset && !below_inset.empty()) {
    shown.take(shown.low + (below_inset.high - shown.low) / kInsetBottom);
  }
  return {{shown.low - 0.05 * shown.size(), shown.high + 0.02 * shown.size()}};
}

IntervalRow row_of_value(const VariantValue& value) {
  const VariantStyle style = variant_style(value.variant);
  return {.label = value.label,
          .detail = value.detail,
          .value = value.mean,
          .margin = value.margin,
          .samples = value.values.size() > 1 ? value.values : std::vector<double>(),
          .color = style.color,
          .hollow = style.dashed};
}

// "norms 35.8k (0.021%)", or the range where variants differ: at the paper's size they are too few to be seen.
std::string norm_label(const std::vector<ParameterBar>& bars) {
  if (bars.empty()) return "norms";
  const auto [low, high] = std::ranges::minmax(bars, {}, &ParameterBar::norm);
  double share = 0;
  for (const ParameterBar& bar : bars) share = std::max(share, double(bar.norm) / double(bar.total()));
  return low.norm == high.norm ? fmt::format("norms {} ({:.3g}%)", format_parameters(low.norm), 100 * share)
                               : fmt::format("norms {}–{} (≤ {:.3g}%)", format_parameters(low.norm),
                                             format_parameters(high.norm), 100 * share);
}

}  // namespace

std::string format_parameters(std::int64_t count) {
  const auto value = static_cast<double>(count);
  if (count >= 100'000) return fmt::format("{:.{}f}M", value / 1e6, count >= 10'000'000 ? 1 : 2);
  return fmt::format("{:.1f}k", value / 1e3);
}

std::vector<Figure> parameter_schematic() {
  MatrixPicture dense{.name = "nparams_rope",
                      .title = "RoPE: q = W x",
                      .vector = {"x₁", "x₂", "x₃", "x₄"},
                      .note = "four free numbers in each 2×2 block: D²"};
  MatrixPicture tied{.name = "nparams_crope",
                     .title = "CRoPE: q̃ = W̃ x̃",
                     .vector = dense.vector,
                     .note = "two free numbers in each 2×2 block: D²/2"};
  const char* const digits[] = {"₁", "₂", "₃", "₄"};
  for (std::size_t i = 0; i < 4; ++i) {
    std::vector<MatrixEntry>& dense_row = dense.entries.emplace_back();
    std::vector<MatrixEntry>& tied_row = tied.entries.emplace_back();
    for (std::size_t j = 0; j < 4; ++j) {
      dense_row.push_back({fmt::format("w{}{}", digits[i], digits[j]), Color::ink});
      const std::string block = fmt::format("{}{}", digits[i / 2], digits[j / 2]);
      const bool diagonal = i % 2 == j % 2;
      tied_row.push_back({fmt::format("{}{}{}", i % 2 > j % 2 ? "−" : "", diagonal ? "a" : "b", block),
                          diagonal ? Color::blue : Color::orange});
    }
  }
  return {matrix_picture(dense), matrix_picture(tied)};
}

Figure parameter_bars(const std::vector<ParameterBar>& bars) {
  StackedBarChart chart{
      .name = "param_counts",
      .title = "Parameters",
      .legend = {{.label = "embedding", .color = Color::shade, .is_box = true},
                 {.label = "feed-forward", .color = Color::muted, .is_box = true, .transparency = 0.25},
                 {.label = "attention", .color = Color::blue, .is_box = true},
                 {.label = norm_label(bars), .color = Color::amber, .is_box = true}},
      .width = 600};
  for (const ParameterBar& bar : bars) {
    chart.bars.push_back(
        {.label = bar.label,
         .parts = {{double(bar.embedding), Color::shade},
                   {double(bar.feed_forward), Color::muted, 0.25},
                   {double(bar.attention), Color::blue},
                   {double(bar.norm), Color::amber}},
         .text = bar.attention_saving > 0
                     ? fmt::format("{}, attention −{:.1f}%", format_parameters(bar.total()), 100 * bar.attention_saving)
                     : format_parameters(bar.total())});
  }
  return stacked_bar_chart(chart);
}

Figure loss_figure(const LossFigure& figure) {
  LineChart chart{.name = figure.name,
                  .title = figure.title,
                  .x_label = "step",
                  .y_label = "loss (nats per token)",
                  .width = 560,
                  .height = 460};
  Inset inset{.title = figure.end_title};
  bool has_inset = false;
  for (const LossCurve& curve : figure.curves) {
    chart.series.push_back(series_of(curve, curve.whole, curve.whole_range));
    inset.series.push_back(series_of(curve, curve.end, curve.end_range));
    has_inset = has_inset || curve.end.size() >= kFewestInsetPoints;
  }
  chart.y_range = loss_range(chart.series, has_inset);
  // Gnuplot shades past the border where a band leaves the plot.
  for (Series& each : chart.series) {
    std::erase_if(each.band,
                  [&](const BandPoint& point) { return chart.y_range && point.high > chart.y_range->second; });
  }
  if (has_inset) chart.inset = std::move(inset);
  return line_chart(chart);
}

Figure downstream_figure(const Benchmark& benchmark, const std::vector<VariantValue>& scores) {
  IntervalChart chart{.name = fmt::format("downstream_{}", benchmark.task), .title = benchmark.title};
  for (const VariantValue& score : scores) {
    IntervalRow row = row_of_value(score);
    row.text =
        score.margin ? fmt::format("{:.3f} ± {:.3f}", score.mean, *score.margin) : fmt::format("{:.3f}", score.mean);
    chart.rows.push_back(std::move(row));
  }
  if (benchmark.chance > 0) {
    chart.reference = benchmark.chance;
    chart.reference_text = fmt::format("chance {}", benchmark.chance);
  }
  return interval_chart(chart);
}

Figure loss_difference_figure(const std::vector<VariantValue>& differences, const std::vector<std::string>& notes) {
  const bool has_interval =
      std::ranges::any_of(differences, [](const VariantValue& each) { return each.margin.has_value(); });
  IntervalChart chart{.name = "val_loss_difference",
                      .title = "Final validation loss: difference to rope",
                      .x_label = "← better · difference in nats per token · worse →",
                      .reference = 0,
                      .reference_text = "rope",
                      .shows_reference = true,
                      .detail_header = "attention parameters",
                      .text_header = has_interval ? "mean ± 95% interval" : "difference",
                      .signed_tics = true,
                      .notes = notes,
                      .width = kDifferenceWidth};
  const auto with_sign = [](double value) { return fmt::format("{}{:.4f}", value < 0 ? "−" : "+", std::abs(value)); };
  for (const VariantValue& difference : differences) {
    IntervalRow row = row_of_value(difference);
    row.text = difference.margin ? fmt::format("{} ± {:.4f}", with_sign(difference.mean), *difference.margin)
                                 : with_sign(difference.mean);
    chart.rows.push_back(std::move(row));
  }
  return interval_chart(chart);
}

Figure throughput_figure(const std::vector<VariantValue>& rates) {
  BarChart chart{.name = "throughput", .title = "Training, tokens per second"};
  for (const VariantValue& rate : rates) {
    const VariantStyle style = variant_style(rate.variant);
    chart.bars.push_back({.label = rate.label,
                          .value = rate.mean,
                          .text = format_count(rate.mean),
                          .color = style.color,
                          .hollow = style.dashed});
  }
  return bar_chart(chart);
}

}  // namespace crope::report
