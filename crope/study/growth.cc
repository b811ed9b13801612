#include "crope/study/growth.h"

#include <ATen/Parallel.h>
#include <fmt/format.h>

#include <algorithm>
#include <functional>

#include "crope/base/error.h"
#include "crope/base/nearest_name.h"
#include "crope/base/threads.h"
#include "crope/model/cost.h"
#include "crope/report/line_chart.h"
#include "crope/study/bench.h"

namespace crope::study {
namespace {

// One dimension: its values, and the step that each stands for.
struct AxisPlan {
  std::string name, label, fixed;
  std::vector<std::int64_t> values;
  std::function<StepShape(std::int64_t)> shape;
};

constexpr std::int64_t kHeadWidth = 64;

StepShape shape_of(std::int64_t layers, std::int64_t width, std::int64_t rows, std::int64_t seq_len) {
  return {.config = {.vocab_size = 4096,
                     .num_layers = layers,
                     .num_heads = width / kHeadWidth,
                     .d_model = width,
                     .d_ff = width,
                     .max_seq_len = std::max<std::int64_t>(512, seq_len)},
          .rows = rows,
          .seq_len = seq_len};
}

std::vector<std::int64_t> doubling(std::int64_t first, std::int64_t last) {
  std::vector<std::int64_t> values;
  for (std::int64_t value = first; value <= last; value *= 2) values.push_back(value);
  return values;
}

std::vector<std::int64_t> thread_counts() {
  std::vector<std::int64_t> counts = doubling(1, available_processors());
  if (counts.back() != available_processors()) counts.push_back(available_processors());
  return counts;
}

std::vector<AxisPlan> all_axes() {
  return {
      {"seq_len", "sequence length", "4 layers, 256 wide, 4,096 tokens per step", doubling(128, 4096),
       [](std::int64_t T) { return shape_of(4, 256, 4096 / T, T); }},
      {"width", "width", "2 layers, 4 rows of 256 tokens", doubling(256, 2048),
       [](std::int64_t width) { return shape_of(2, width, 4, 256); }},
      {"layers", "layers", "256 wide, 8 rows of 256 tokens", doubling(1, 16),
       [](std::int64_t layers) { return shape_of(layers, 256, 8, 256); }},
      {"batch", "rows of a batch", "4 layers, 256 wide, rows of 256 tokens", doubling(1, 32),
       [](std::int64_t rows) { return shape_of(4, 256, rows, 256); }},
      {"threads", "threads", "4 layers, 256 wide, 16 rows of 256 tokens", thread_counts(),
       [](std::int64_t) { return shape_of(4, 256, 16, 256); }},
  };
}

// As many threads as before when it goes.
class ThreadCount {
 public:
  explicit ThreadCount(int count) : before_(at::get_num_threads()) { at::set_num_threads(count); }
  ~ThreadCount() { at::set_num_threads(before_); }
  ThreadCount(const ThreadCount&) = delete;
  ThreadCount& operator=(const ThreadCount&) = delete;

 private:
  int before_;
};

AxisPlan axis_by_name(const std::string& name) {
  const std::vector<AxisPlan> axes = all_axes();
  const auto found = std::ranges::find(axes, name, &AxisPlan::name);
  if (found != axes.end()) return *found;
  std::vector<std::string> names;
  for (const AxisPlan& axis : axes) names.push_back(axis.name);
  throw UsageError(fmt::format("nothing grows along '{}'", name), suggest(name, names));
}

GrowthAxis measure_axis(const AxisPlan& plan, const GrowthOptions& options, Log& log) {
  GrowthAxis axis{.name = plan.name, .label = plan.label, .fixed = plan.fixed};
  for (const std::int64_t value : plan.values) {
    for (const std::string& variant : options.variants) {
      StepShape shape = plan.shape(value);
      shape.config.variant = model::variant_by_name(variant);
      const double flops = model::cost_per_token(shape.config, shape.seq_len).training_flops;
      if (flops * static_cast<double>(shape.tokens()) > options.most_flops) continue;
      const ThreadCount threads(plan.name == "threads" ? static_cast<int>(value) : at::get_num_threads());
      axis.points.push_back({value, variant, measure_step(shape, options.repetitions)});
      log.info(fmt::format("{} {}: {} {:.1f} ms", plan.label, value, variant, 1e3 * axis.points.back().cost.step_s()));
    }
  }
  return axis;
}

}  // namespace

std::vector<GrowthAxis> measure_growth(const GrowthOptions& options, Log& log) {
  std::vector<AxisPlan> plans;
  for (const std::string& name : options.axes) plans.push_back(axis_by_name(name));
  std::vector<GrowthAxis> axes;
  for (const AxisPlan& plan : plans) axes.push_back(measure_axis(plan, options, log));
  return axes;
}

void draw_growth(const std::vector<GrowthAxis>& axes, const std::filesystem::path& dir) {
  for (const GrowthAxis& axis : axes) {
    report::LineChart chart{.name = "growth_" + axis.name,
                            .title = axis.fixed,
                            .x_label = axis.label,
                            .y_label = "seconds a step",
                            .log_x = true};
    double most = 0;
    for (const GrowthPoint& point : axis.points) {
      auto series = std::ranges::find(chart.series, point.variant, &report::Series::label);
      if (series == chart.series.end()) {
        const report::VariantStyle style = report::variant_style(point.variant);
        chart.series.push_back({.label = point.variant,
                                .color = style.color,
                                .dash = style.dashed ? report::Dash::dashed : report::Dash::solid,
                                .marked = true});
        series = std::prev(chart.series.end());
      }
      series->points.emplace_back(static_cast<double>(point.value), point.cost.step_s());
      most = std::max(most, point.cost.step_s());
    }
    chart.y_range = {{0, 1.05 * most}};
    report::draw(report::line_chart(chart), dir);
  }
}

Json to_json(const std::vector<GrowthAxis>& axes) {
  Json list = Json::array();
  for (const GrowthAxis& axis : axes) {
    Json points = Json::array();
    for (const GrowthPoint& point : axis.points) {
      points.push_back({{"value", point.value}, {"variant", point.variant}, {"step", to_json(point.cost)}});
    }
    list.push_back({{"name", axis.name}, {"label", axis.label}, {"fixed", axis.fixed}, {"points", std::move(points)}});
  }
  return list;
}

}  // namespace crope::study
