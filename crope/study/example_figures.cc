#include "crope/study/example_figures.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "crope/report/heat_map.h"
#include "crope/report/line_chart.h"

namespace crope::study {
namespace {

using namespace analysis;
using report::Color;
using report::Dash;
using report::DrawnFigure;
using report::FigureRow;
using report::Prose;

struct KindStyle {
  const char* label;
  Color color;
  Dash dash;
};

KindStyle style_of(HeadKind kind) {
  switch (kind) {
    case HeadKind::absolute:
      return {"absolute", Color::purple, Dash::solid};
    case HeadKind::relative:
      return {"relative", Color::amber, Dash::solid};
    case HeadKind::rope:
      return {"RoPE", Color::ink, Dash::dashed};
    case HeadKind::crope:
      return {"CRoPE", Color::orange, Dash::solid};
  }
  return {};
}

KindStyle style_of(ToyKind kind) {
  switch (kind) {
    case ToyKind::absolute:
      return style_of(HeadKind::absolute);
    case ToyKind::relative:
      return style_of(HeadKind::relative);
    case ToyKind::rope:
      return style_of(HeadKind::rope);
    case ToyKind::crope:
      return style_of(HeadKind::crope);
    case ToyKind::half_rope:
      return {"RoPE, half width", Color::orange, Dash::dashed};
  }
  return {};
}

const char* title_of(HeadTask task) {
  switch (task) {
    case HeadTask::same_token:
      return "Equal tokens";
    case HeadTask::same_position:
      return "Own position, with a bias";
    case HeadTask::same_position_free:
      return "Own position, without a bias";
    case HeadTask::token_dependent:
      return "“next” → i + 1, “nexnext” → i + 2";
  }
  return "";
}

// rope is drawn last: where it lies on crope its dashes show both.
constexpr std::array kDrawingOrder = {HeadKind::absolute, HeadKind::relative, HeadKind::crope, HeadKind::rope};

std::vector<DrawnFigure> heat_maps(const HeadStudy& study, HeadTask task, const std::filesystem::path& dir) {
  std::vector<DrawnFigure> figures;
  for (const HeadPicture& picture : study.pictures) {
    if (picture.task != task) continue;
    const KindStyle style = style_of(picture.kind);
    report::HeatMap map{.name = fmt::format("heads_{}_{}", head_task_name(task), head_kind_name(picture.kind)),
                        .title = style.label,
                        .values = picture.weights,
                        .color = picture.kind == HeadKind::rope ? Color::ink : style.color};
    for (std::size_t m = 0; m < picture.token_ids.size(); ++m) {
      const std::int64_t id = picture.token_ids[m];
      if (task == HeadTask::token_dependent) map.row_labels.push_back(id == 0 ? "next" : "nexnext");
      if (task == HeadTask::same_token) map.row_labels.push_back(std::string(1, static_cast<char>('A' + id)));
      for (const std::int64_t n : picture.targets[m])
        map.outlined.emplace_back(static_cast<int>(m), static_cast<int>(n));
    }
    figures.push_back(report::draw(report::heat_map(map), dir));
  }
  return figures;
}

using Measure = double HeadMeasures::*;

struct CurvePlan {
  const std::vector<HeadSample>& samples;
  std::int64_t HeadOptions::*axis;
  const char* axis_label;
  const char* name;
};

report::Points curve(const CurvePlan& plan, HeadKind kind, HeadTask task, Measure measure) {
  report::Points points;
  for (const HeadSample& sample : plan.samples) {
    if (sample.kind == kind && sample.task == task)
      points.emplace_back(sample.options.*plan.axis, sample.measures.*measure);
  }
  return points;
}

// Weight on the target as lines, the largest weight elsewhere as dots of the same colour.
DrawnFigure weight_chart(const CurvePlan& plan, HeadTask task, const std::filesystem::path& dir) {
  report::LineChart chart{.name = fmt::format("heads_{}_{}", plan.name, head_task_name(task)),
                          .title = title_of(task),
                          .x_label = plan.axis_label,
                          .y_label = "attention weight",
                          .log_x = true,
                          .y_range = {{0, 1.02}},
                          .height = 380};
  for (const HeadKind kind : kDrawingOrder) {
    const KindStyle style = style_of(kind);
    chart.series.push_back(
        {style.label, curve(plan, kind, task, &HeadMeasures::target_weight), style.color, style.dash, true});
  }
  for (const HeadKind kind : kDrawingOrder) {
    if (kind == HeadKind::rope) continue;  // where it differs from crope it could not be told from it
    chart.series.push_back(
        {"", curve(plan, kind, task, &HeadMeasures::largest_elsewhere), style_of(kind).color, Dash::dotted, false});
  }
  return report::draw(report::line_chart(chart), dir);
}

DrawnFigure score_chart(const CurvePlan& plan, HeadTask task, const std::filesystem::path& dir) {
  report::LineChart chart{.name = fmt::format("heads_score_{}", head_task_name(task)),
                          .title = "Scores before the softmax",
                          .x_label = plan.axis_label,
                          .y_label = "score / √D",
                          .log_x = true,
                          .y_range = {{0.85, 1.2}},
                          .height = 380};
  for (const auto& [label, measure, dash] :
       {std::tuple("CRoPE, target", &HeadMeasures::target_score, Dash::solid),
        std::tuple("CRoPE, best elsewhere", &HeadMeasures::elsewhere_score, Dash::dotted)}) {
    chart.series.push_back({label, curve(plan, HeadKind::crope, task, measure), Color::orange, dash, true});
  }
  for (const auto& [label, measure, dash] :
       {std::tuple("absolute, target", &HeadMeasures::target_score, Dash::solid),
        std::tuple("absolute, best elsewhere", &HeadMeasures::elsewhere_score, Dash::dotted)}) {
    chart.series.push_back({label, curve(plan, HeadKind::absolute, task, measure), Color::purple, dash, true});
  }
  return report::draw(report::line_chart(chart), dir);
}

report::Table sample_table(const HeadStudy& study) {
  report::Table table{
      .columns = {"task", "positions", "mask", "rows right", "weight", "elsewhere", "score", "elsewhere"},
      .caption = fmt::format("Every head at D = {}, T = {}. A row is right when its largest weight is on a target. "
                             "Weights are on the targets and the largest "
                             "elsewhere, means over rows; scores likewise, divided by that of a perfect match, √D.",
                             study.options.head.D, study.options.head.T)};
  for (const HeadSample& sample : study.samples) {
    const HeadMeasures& m = sample.measures;
    table.rows.push_back({sample.task == HeadTask::token_dependent ? "next, nexnext" : title_of(sample.task),
                          style_of(sample.kind).label,
                          sample.options.mask == ops::Mask::causal ? "causal" : "both ways",
                          fmt::format("{} / {}", m.rows_right, m.rows), fmt::format("{:.3f}", m.target_weight),
                          fmt::format("{:.3f}", m.largest_elsewhere), fmt::format("{:.3f}", m.target_score),
                          fmt::format("{:.3f}", m.elsewhere_score)});
  }
  return table;
}

report::Table absolute_table(const HeadStudy& study) {
  report::Table table{.columns = {"first position"},
                      .caption =
                          "Rows right of three absolute heads on the same sequence standing at other positions. The "
                          "first adds the token's phase to the "
                          "own position; the second turns the own position by one step and cannot hear the token; the "
                          "third lets the token tilt "
                          "the scores up or down over all positions, which moves the peak by half a step as long as "
                          "the slowest sinusoids "
                          "are straight lines."};
  std::map<std::int64_t, std::vector<std::string>> rows;
  for (const AbsoluteTry attempt : kAbsoluteTries) {
    table.columns.emplace_back(attempt == AbsoluteTry::own_position  ? "token + own position"
                               : attempt == AbsoluteTry::always_next ? "always next"
                                                                     : "tilt");
    for (const AbsoluteSample& sample : study.absolute) {
      if (sample.attempt != attempt) continue;
      rows[sample.first_position].push_back(fmt::format("{} / {}", sample.measures.rows_right, sample.measures.rows));
    }
  }
  for (auto& [first, cells] : rows) {
    cells.insert(cells.begin(), std::to_string(first));
    table.rows.push_back(cells);
  }
  return table;
}

struct SeedSummary {
  double mean = 0, low = 1, high = 0;
};

template <typename Value>
SeedSummary over_seeds(const std::vector<const ToyRun*>& runs, const Value& value) {
  SeedSummary summary;
  for (const ToyRun* run : runs) {
    const double v = value(*run);
    summary.mean += v / static_cast<double>(runs.size());
    summary.low = std::min(summary.low, v);
    summary.high = std::max(summary.high, v);
  }
  return summary;
}

std::vector<const ToyRun*> select(const std::vector<ToyRun>& runs, ToyKind kind, std::int64_t D) {
  std::vector<const ToyRun*> chosen;
  for (const ToyRun& run : runs) {
    if (run.kind == kind && run.D == D) chosen.push_back(&run);
  }
  return chosen;
}

std::vector<std::int64_t> widths_of(const std::vector<ToyRun>& runs) {
  std::vector<std::int64_t> widths;
  for (const ToyRun& run : runs) {
    if (std::ranges::find(widths, run.D) == widths.end()) widths.push_back(run.D);
  }
  std::ranges::sort(widths);
  return widths;
}

DrawnFigure learning_chart(const std::vector<ToyRun>& runs, std::int64_t D, double chance,
                           const std::filesystem::path& dir) {
  report::LineChart chart{.name = fmt::format("toy_steps_{}", D),
                          .title = fmt::format("Learning, D = {}", D),
                          .x_label = "step",
                          .y_label = "accuracy",
                          .y_range = {{0, 1.02}},
                          .reference = chance};
  for (const ToyKind kind : kToyKinds) {
    const auto chosen = select(runs, kind, D);
    if (chosen.empty()) continue;
    const KindStyle style = style_of(kind);
    report::Series series{.label = style.label, .color = style.color, .dash = style.dash};
    for (std::size_t i = 0; i < chosen.front()->steps.size(); ++i) {
      series.points.emplace_back(chosen.front()->steps[i],
                                 over_seeds(chosen, [&](const ToyRun& run) { return run.accuracy[i]; }).mean);
    }
    chart.series.push_back(std::move(series));
  }
  return report::draw(report::line_chart(chart), dir);
}

DrawnFigure size_chart(const std::vector<ToyRun>& runs, double chance, const std::filesystem::path& dir) {
  report::LineChart chart{.name = "toy_parameters",
                          .title = "After training",
                          .x_label = "parameters of the projections",
                          .y_label = "accuracy",
                          .log_x = true,
                          .y_range = {{0, 1.02}},
                          .reference = chance};
  for (const ToyKind kind : kToyKinds) {
    const KindStyle style = style_of(kind);
    report::Series series{.label = style.label, .color = style.color, .dash = style.dash, .marked = true};
    for (const std::int64_t D : widths_of(runs)) {
      const auto chosen = select(runs, kind, D);
      if (chosen.empty()) continue;
      series.points.emplace_back(chosen.front()->parameters,
                                 over_seeds(chosen, [](const ToyRun& run) { return run.accuracy.back(); }).mean);
    }
    chart.series.push_back(std::move(series));
  }
  return report::draw(report::line_chart(chart), dir);
}

report::Table trained_table(const std::vector<ToyRun>& runs, const ToyOptions& options) {
  report::Table table{.columns = {"positions", "D", "parameters", "accuracy", "lowest – highest"},
                      .caption = fmt::format("After {} steps, mean of {} seeds; then the same sequences at positions "
                                             "that were not trained on. Parameters are those of Q, K "
                                             "and V, and of learned positions.",
                                             options.steps, options.seeds.size())};
  for (const std::int64_t first : options.first_positions) {
    if (first != 0) table.columns.push_back(fmt::format("from {}", first));
  }
  for (const std::int64_t D : widths_of(runs)) {
    for (const ToyKind kind : kToyKinds) {
      const auto chosen = select(runs, kind, D);
      if (chosen.empty()) continue;
      const SeedSummary last = over_seeds(chosen, [](const ToyRun& run) { return run.accuracy.back(); });
      std::vector<std::string> row = {style_of(kind).label, std::to_string(D),
                                      std::to_string(chosen.front()->parameters), fmt::format("{:.3f}", last.mean),
                                      fmt::format("{:.3f} – {:.3f}", last.low, last.high)};
      for (std::size_t i = 0; i < options.first_positions.size(); ++i) {
        if (options.first_positions[i] == 0) continue;
        row.push_back(
            fmt::format("{:.3f}", over_seeds(chosen, [&](const ToyRun& run) { return run.moved_accuracy[i]; }).mean));
      }
      table.rows.push_back(std::move(row));
    }
  }
  return table;
}

}  // namespace

report::Section head_section(const HeadStudy& study, const std::filesystem::path& dir) {
  const HeadOptions& base = study.options.head;
  report::Section section{.id = "heads", .title = "The illustrative heads"};
  section.blocks.emplace_back(
      Prose{fmt::format("Tokens that say where to look: “next” asks for the position after it, “nexnext” for the one "
                        "after that. RoPE and CRoPE do it with the weights of the appendix, the "
                        "relative form of Eq. pe-rel with its position vectors; absolute positions do not. Queries and "
                        "keys have a root mean square of one, as QK-norm makes them, "
                        "and the scale is the model's, so nothing is sharper here than in a model of width {}.",
                        base.D)});
  section.blocks.emplace_back(
      FigureRow{heat_maps(study, HeadTask::token_dependent, dir),
                fmt::format("Attention weights at D = {}, {} positions, without a mask (Figure toyproblem). Rows "
                            "attend to columns; frames mark where they should.",
                            base.D, study.options.picture_length),
                230});
  const CurvePlan by_width{study.by_width, &HeadOptions::D, "D", "width"};
  const CurvePlan by_length{study.by_length, &HeadOptions::T, "T", "length"};
  section.blocks.emplace_back(FigureRow{
      {weight_chart(by_width, HeadTask::token_dependent, dir), score_chart(by_width, HeadTask::token_dependent, dir)},
      fmt::format("Left: mean weight on the target against width, T = {}; dots are the largest weight elsewhere. "
                  "Right: why a delta is reached only after the "
                  "softmax. The score of a position one step off stays near 0.97 of a perfect match at any width; what "
                  "grows is √D in front of it.",
                  base.T)});
  std::vector<DrawnFigure> others;
  for (const HeadTask task : {HeadTask::same_token, HeadTask::same_position, HeadTask::same_position_free})
    others.push_back(weight_chart(by_width, task, dir));
  others.push_back(weight_chart(by_length, HeadTask::token_dependent, dir));
  section.blocks.emplace_back(FigureRow{
      std::move(others),
      fmt::format(
          "The other heads of the paper against width, and the token-dependent one against length at D = {}. Equal "
          "tokens: token embeddings much larger than "
          "positions, or in the slowest pairs of RoPE. Own position: without a bias the constant is read off the "
          "tokens by least squares, "
          "exactly once there are more dimensions than the 64 tokens (twice as many reals for the complex-linear map).",
          base.D)});
  section.blocks.emplace_back(FigureRow{heat_maps(study, HeadTask::same_token, dir),
                                        "Equal tokens: rows attend to the places of their own letter.", 230});
  section.blocks.emplace_back(
      FigureRow{heat_maps(study, HeadTask::same_position, dir), "Own position, the embedding a constant bias.", 230});
  section.blocks.emplace_back(sample_table(study));
  section.blocks.emplace_back(
      Prose{fmt::format("Why absolute positions fail. In (xᵢ + pᵢ)ᵀ M (xⱼ + pⱼ) the token's part of the score, xᵢᵀ M "
                        "(xⱼ + pⱼ), knows the position j but not i: exchanging “next” for “nexnext” moves the "
                        "scores of a key by the same amount from every query. Measured, the part of that change which "
                        "depends on i and j together is {:.1e} for absolute positions, {:.3f} for the relative "
                        "form, {:.3f} for RoPE and {:.3f} for CRoPE (root mean square over √D).\n\n"
                        "It is not quite impossible within a window: a token can tilt all scores, and a tilt moves a "
                        "peak. The table shows the tilt at work and breaking where its sinusoids bend.",
                        study.interaction[0], study.interaction[1], study.interaction[2], study.interaction[3])});
  section.blocks.emplace_back(absolute_table(study));
  section.blocks.emplace_back(Prose{fmt::format(
      "The appendix's query matrix, written as a dense one, has a conjugate-linear share of {:.2g}: it is "
      "complex-linear, and CRoPE has it with half the parameters. Its phases are used here "
      "with the opposite sign. Eq. delta-rope omits the dagger of Eq. pe-crope: as printed, with e⁻ⁱᶿ, {} of {} "
      "rows are right and {} look as far back as they should look ahead, which is the "
      "head one wants under a causal mask.",
      study.query_conjugate_share, study.as_printed.rows_right, study.as_printed.rows, study.as_printed_mirrored)});
  return section;
}

report::Section trained_section(const std::vector<ToyRun>& runs, const ToyOptions& options,
                                const std::filesystem::path& dir) {
  report::Section section{.id = "trained", .title = "The illustrative task, learned"};
  const double chance = 1.0 / static_cast<double>(options.num_contents);
  const std::vector<std::int64_t> widths = widths_of(runs);
  section.blocks.emplace_back(Prose{
      fmt::format("One attention layer of one head, trained from random weights with AdamW on sequences of {} random "
                  "tokens, no mask. Each token has one of {} contents and is a “next” or a “nexnext”; the layer has "
                  "to name the content it points at. RoPE of half the width has as many parameters as CRoPE.",
                  options.T, options.num_contents)});
  std::vector<DrawnFigure> charts;
  if (widths.size() > 1) charts.push_back(learning_chart(runs, widths[widths.size() - 2], chance, dir));
  charts.push_back(learning_chart(runs, widths.back(), chance, dir));
  charts.push_back(size_chart(runs, chance, dir));
  section.blocks.emplace_back(
      FigureRow{std::move(charts),
                "Accuracy on sequences never trained on, means over the seeds. The dotted line is chance.", 330});
  section.blocks.emplace_back(trained_table(runs, options));
  return section;
}

}  // namespace crope::study
