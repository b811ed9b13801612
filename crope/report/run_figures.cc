#include "crope/report/run_figures.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <set>

#include "crope/base/progress.h"
#include "crope/report/bar_chart.h"
#include "crope/report/matrix_picture.h"

namespace crope::report {
namespace {

constexpr double kInsetSteps = 200;
constexpr double kFirstShare = 0.03;
constexpr double kInsetFrom = 0.3;    // of the steps; its labels begin there
constexpr double kBelowInset = 0.36;  // of the height is free below it
constexpr std::size_t kMostPoints = 400;
constexpr std::size_t kMostLegendEntries = 9;

Dash dash_of(const RunData& run) {
  return variant_style(run.variant).dashed ? Dash::dashed : Dash::solid;
}

using LossOf = Points RunData::*;

// Of many runs only the first of each variant is in the legend.
std::vector<Series> loss_series(const std::vector<RunData>& runs, LossOf loss, double from, std::size_t window) {
  std::vector<Series> series;
  std::set<std::string> named;
  for (const RunData& run : runs) {
    Points points;
    for (const auto& point : smoothed(run.*loss, window)) {
      if (point.first >= from) points.push_back(point);
    }
    if (points.empty()) continue;
    const bool many = runs.size() > kMostLegendEntries;
    const std::string& name = many ? run.variant : run.label;
    const bool is_new = named.insert(name).second;
    series.push_back({.label = many && !is_new ? "" : name,
                      .points = thinned(points, kMostPoints),
                      .color = variant_style(run.variant).color,
                      .dash = dash_of(run),
                      .marked = points.size() <= 12});
  }
  return series;
}

double last_step(const std::vector<RunData>& runs, LossOf loss) {
  double last = 0;
  for (const RunData& run : runs) {
    if (!(run.*loss).empty()) last = std::max(last, (run.*loss).back().first);
  }
  return last;
}

// A window that takes the noise of single batches and leaves the shape: one in fifty steps, at most 50.
std::size_t smoothing_window(double steps) {
  return static_cast<std::size_t>(std::clamp(steps / 50, 1.0, 50.0));
}

Figure loss_figure(const std::vector<RunData>& runs, LossOf loss, const char* name, const char* title, bool smooth) {
  const double last = last_step(runs, loss);
  const bool is_long = last >= 2 * kInsetSteps;
  const double from = is_long ? last - kInsetSteps : 0.75 * last;
  const std::size_t window = smooth ? smoothing_window(last) : 1;
  LineChart chart{.name = name,
                  .title = title,
                  .x_label = "step",
                  .y_label = "loss (nats per token)",
                  .series = loss_series(runs, loss, 0, smooth ? std::max<std::size_t>(1, window / 5) : 1)};
  // The first steps fall so far that nothing else would be seen: the axis begins where they end.
  double low = INFINITY, high = -INFINITY, below_inset = -INFINITY;
  for (const Series& each : chart.series) {
    for (const auto& [step, value] : each.points) {
      if (step < kFirstShare * last) continue;
      low = std::min(low, value);
      high = std::max(high, value);
      if (step > kInsetFrom * last) below_inset = std::max(below_inset, value);
    }
  }
  // Room for the inset above the curves.
  if (low < high) high = std::max(high, low + (below_inset - low) / kBelowInset);
  if (low < high) chart.y_range = {{low - 0.05 * (high - low), high + 0.02 * (high - low)}};
  Inset inset{.title = is_long ? fmt::format("last {:.0f} steps{}", kInsetSteps, smooth ? ", smoothed" : "")
                               : fmt::format("last quarter{}", smooth ? ", smoothed" : ""),
              .series = loss_series(runs, loss, from, window)};
  const bool has_line = std::ranges::any_of(inset.series, [](const Series& each) { return each.points.size() > 1; });
  if (has_line) chart.inset = std::move(inset);
  return line_chart(chart);
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
                 {.label = "attention", .color = Color::blue, .is_box = true}},
      .width = 520};
  for (const ParameterBar& bar : bars) {
    chart.bars.push_back(
        {.label = bar.label,
         .parts = {{double(bar.embedding), Color::shade},
                   {double(bar.feed_forward + bar.norm), Color::muted, 0.25},
                   {double(bar.attention), Color::blue}},
         .text = bar.attention_saving > 0
                     ? fmt::format("{}, attention −{:.1f}%", format_parameters(bar.total()), 100 * bar.attention_saving)
                     : format_parameters(bar.total())});
  }
  return stacked_bar_chart(chart);
}

std::vector<Figure> loss_figures(const std::vector<RunData>& runs) {
  std::vector<Figure> figures;
  if (last_step(runs, &RunData::train_loss) > 0) {
    figures.push_back(loss_figure(runs, &RunData::train_loss, "train_loss", "Training loss", /*smooth=*/true));
  }
  if (last_step(runs, &RunData::val_loss) > 0) {
    figures.push_back(loss_figure(runs, &RunData::val_loss, "val_loss", "Validation loss", /*smooth=*/false));
  }
  return figures;
}

std::vector<Figure> downstream_figures(const std::vector<RunData>& runs) {
  std::vector<Figure> figures;
  for (const Benchmark& benchmark : kBenchmarks) {
    BarChart chart{.name = fmt::format("downstream_{}", benchmark.task), .title = benchmark.title};
    for (const RunData& run : runs) {
      const auto score = find_score(run, benchmark);
      if (!score) continue;
      const VariantStyle style = variant_style(run.variant);
      chart.bars.push_back({.label = run.label,
                            .value = score->value,
                            .error = score->error,
                            .text = score->error > 0 ? fmt::format("{:.3f} ± {:.3f}", score->value, score->error)
                                                     : fmt::format("{:.3f}", score->value),
                            .color = style.color,
                            .hollow = style.dashed});
    }
    if (chart.bars.empty()) continue;
    if (benchmark.chance > 0) {
      chart.reference = benchmark.chance;
      chart.reference_text = "chance";
    }
    figures.push_back(bar_chart(chart));
  }
  return figures;
}

std::vector<Figure> throughput_figures(const std::vector<RunData>& runs) {
  BarChart chart{.name = "throughput", .title = "Training, tokens per second"};
  for (const RunData& run : runs) {
    const auto rate = median_rate(run);
    if (!rate) continue;
    const VariantStyle style = variant_style(run.variant);
    chart.bars.push_back({.label = run.label,
                          .value = *rate,
                          .text = format_count(*rate),
                          .color = style.color,
                          .hollow = style.dashed});
  }
  if (chart.bars.empty()) return {};
  return {bar_chart(chart)};
}

}  // namespace crope::report
