#include "crope/study/loss_curves.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>

namespace crope::study {
namespace {

using report::Band;
using report::BandPoint;
using report::Points;
using report::RunData;
using LossOf = Points RunData::*;

constexpr double kInsetSteps = 200;  // the paper's
constexpr std::size_t kMostPoints = 400;

// Steps of the inset that are averaged, at most 50: takes the noise of single batches and leaves the shape. The whole
// curve needs less.
std::size_t smoothing_window(double steps) {
  return static_cast<std::size_t>(std::clamp(steps / 20, 1.0, 50.0));
}

double last_step(const std::vector<SeedGroup>& groups, LossOf loss) {
  double last = 0;
  for (const SeedGroup& group : groups) {
    for (const RunData* run : group.runs) {
      if (!(run->*loss).empty()) last = std::max(last, (run->*loss).back().first);
    }
  }
  return last;
}

// Means of neighbouring points, of the band as of the line.
SeedCurve thinned(const SeedCurve& curve) {
  Points low, high;
  for (const BandPoint& point : curve.range) {
    low.emplace_back(point.x, point.low);
    high.emplace_back(point.x, point.high);
  }
  low = report::thinned(low, kMostPoints);
  high = report::thinned(high, kMostPoints);
  SeedCurve result{.mean = report::thinned(curve.mean, kMostPoints)};
  for (std::size_t i = 0; i < low.size(); ++i) result.range.push_back({low[i].first, low[i].second, high[i].second});
  return result;
}

SeedCurve from_step(SeedCurve curve, double first) {
  std::erase_if(curve.mean, [&](const auto& point) { return point.first < first; });
  std::erase_if(curve.range, [&](const BandPoint& point) { return point.x < first; });
  return curve;
}

bool has_one_seed_count(const std::vector<SeedGroup>& groups) {
  return std::ranges::all_of(groups,
                             [&](const SeedGroup& group) { return group.runs.size() == groups.front().runs.size(); });
}

report::LossFigure make_figure(const std::vector<SeedGroup>& groups, LossOf loss, const char* name, std::string title,
                               bool is_smoothed) {
  // Both figures enlarge the same steps, also where the last validation is not at the last step.
  const double last = std::max(last_step(groups, &RunData::train_loss), last_step(groups, &RunData::val_loss));
  const double begin = inset_begin(last);
  const std::size_t window = is_smoothed ? smoothing_window(last) : 1;
  const bool same_count = has_one_seed_count(groups);
  if (most_seeds(groups) > 1) {
    title +=
        same_count ? fmt::format(" (mean and range of {} seeds)", most_seeds(groups)) : " (mean and range of seeds)";
  }
  report::LossFigure figure{
      .name = name,
      .title = std::move(title),
      .end_title = (last - begin == kInsetSteps ? fmt::format("last {:.0f} steps", kInsetSteps) : "last third") +
                   (window > 1 ? ", smoothed" : "")};
  for (const SeedGroup& group : groups) {
    const SeedCurve whole = thinned(curve_over_seeds(group, loss, std::max<std::size_t>(1, window / 5)));
    if (whole.mean.empty()) continue;
    const SeedCurve end = thinned(from_step(curve_over_seeds(group, loss, window), begin));
    // Where the title cannot say how many seeds there are, each name does.
    const std::string count = same_count ? "" : fmt::format(" ({})", group.runs.size());
    figure.curves.push_back({group.label + count, group.variant, whole.mean, whole.range, end.mean, end.range});
  }
  return figure;
}

}  // namespace

SeedCurve curve_over_seeds(const SeedGroup& group, LossOf loss, std::size_t window) {
  std::map<double, std::vector<double>> at_step;
  for (const RunData* run : group.runs) {
    const Points points = report::smoothed(run->*loss, window);
    // A step that was logged twice counts once.
    for (const auto& [step, value] : std::map(points.begin(), points.end())) at_step[step].push_back(value);
  }
  SeedCurve curve;
  for (const auto& [step, values] : at_step) {
    if (values.size() != group.runs.size()) continue;
    double sum = 0;
    for (const double value : values) sum += value;
    curve.mean.emplace_back(step, sum / static_cast<double>(values.size()));
    const auto [low, high] = std::ranges::minmax(values);
    if (values.size() > 1) curve.range.push_back({step, low, high});
  }
  return curve;
}

double inset_begin(double last_step) {
  return last_step >= 3 * kInsetSteps ? last_step - kInsetSteps : last_step - last_step / 3;
}

std::vector<report::LossFigure> loss_figures(const std::vector<SeedGroup>& groups) {
  std::vector<report::LossFigure> figures;
  if (last_step(groups, &RunData::train_loss) > 0) {
    figures.push_back(make_figure(groups, &RunData::train_loss, "train_loss", "Training loss", /*is_smoothed=*/true));
  }
  if (last_step(groups, &RunData::val_loss) > 0) {
    figures.push_back(make_figure(groups, &RunData::val_loss, "val_loss", "Validation loss", /*is_smoothed=*/false));
  }
  return figures;
}

}  // namespace crope::study
