#include "crope/study/paper_figures.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "crope/base/progress.h"
#include "crope/study/benchmarks.h"

namespace crope::study {
namespace {

// Standard error of a score on `items` independent items.
double standard_error(double score, std::int64_t items) {
  return std::sqrt(score * (1 - score) / static_cast<double>(items));
}

// A score that may stand for a variant, as the paper prints it.
struct Figure {
  double value = 0;
  bool is_named = true;  // the paper tells which variant it is

  std::string text() const { return fmt::format("{:.3f}{}", value, is_named ? "" : " (variant not named)"); }
};

constexpr Figure kBestCrope = {.value = kPaperBestCropeHellaswag, .is_named = false};

std::optional<Figure> figure_of(std::string_view task, std::string_view variant) {
  if (const auto score = paper_score(task, variant)) return Figure{.value = *score};
  const bool may_be_best = task == "hellaswag" && (variant == "crope_qk" || variant == "crope_qkv");
  return may_be_best ? std::optional(kBestCrope) : std::nullopt;
}

std::string weigh(const Figure& a, const Figure& b, std::int64_t items) {
  return fmt::format("undecided: one seed; {} - {} is {:.2f} unpaired standard errors on {} items", a.text(), b.text(),
                     unpaired_standard_errors(a.value, b.value, items), format_grouped(items));
}

}  // namespace

std::vector<std::string> paper_tasks() {
  std::vector<std::string> tasks;
  for (const PaperBenchmark& benchmark : kPaperBenchmarks) tasks.emplace_back(benchmark.task);
  return tasks;
}

const PaperBenchmark& paper_benchmark(std::string_view task) {
  return *std::ranges::find(kPaperBenchmarks, task, &PaperBenchmark::task);
}

std::optional<double> paper_score(std::string_view task, std::string_view variant) {
  for (const PaperScore& score : kPaperScores) {
    if (score.task == task && score.variant == variant) return score.value;
  }
  return {};
}

std::string paper_scores_text(std::string_view task, std::string_view one, std::string_view other) {
  const auto a = figure_of(task, one), b = figure_of(task, other);
  return a && b ? fmt::format("{} against {}", a->text(), b->text()) : "-";
}

double unpaired_standard_errors(double a, double b, std::int64_t items) {
  return (a - b) / std::hypot(standard_error(a, items), standard_error(b, items));
}

std::string paper_loss_verdict() {
  return "undecided: one seed, and the paper prints no losses";
}

std::string paper_stability_verdict() {
  return "undecided: one seed, and the paper shows curves without values";
}

std::string paper_difference_verdict(std::string_view task, std::string_view one, std::string_view other) {
  const auto a = figure_of(task, one), b = figure_of(task, other);
  if (!a || !b) return "undecided: one seed, and the paper prints no score";
  return weigh(*a, *b, paper_benchmark(task).items);
}

std::string paper_best_verdict(std::string_view task) {
  const auto rope = figure_of(task, "rope");
  if (!rope) return "undecided: one seed, and the paper prints no score";
  return weigh(*rope, kBestCrope, paper_benchmark(task).items);
}

std::string paper_spread_verdict(std::string_view task) {
  const PaperBenchmark& benchmark = paper_benchmark(task);
  const double chance = benchmark_by_task(task).chance;
  const double above = (benchmark.high - chance) / standard_error(benchmark.high, benchmark.items);
  if (above < 0) {
    return fmt::format("undecided: at chance; even {:.3f} is {:.1f} standard errors under {:.2f}", benchmark.high,
                       -above, chance);
  }
  return weigh({.value = benchmark.high}, {.value = benchmark.low}, benchmark.items);
}

}  // namespace crope::study
