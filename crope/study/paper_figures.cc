#include "crope/study/paper_figures.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace crope::study {
namespace {

// Standard error of a score on `items` independent items.
double standard_error(double score, std::int64_t items) {
  return std::sqrt(score * (1 - score) / static_cast<double>(items));
}

std::string weigh(double a, double b, std::int64_t items) {
  return fmt::format("{:.3f} - {:.3f} is {:.2f} unpaired standard errors on {} items", a, b,
                     unpaired_standard_errors(a, b, items), items);
}

}  // namespace

const PaperBenchmark& paper_benchmark(std::string_view task) {
  return *std::ranges::find(kPaperBenchmarks, task, &PaperBenchmark::task);
}

double paper_score(std::string_view task, std::string_view variant) {
  for (const PaperScore& score : kPaperScores) {
    if (score.task == task && score.variant == variant) return score.value;
  }
  return kPaperBestCropeHellaswag;
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
  const PaperBenchmark& benchmark = paper_benchmark(task);
  return "undecided: one seed; " + weigh(paper_score(task, one), paper_score(task, other), benchmark.items);
}

std::string paper_best_verdict(std::string_view task) {
  const PaperBenchmark& benchmark = paper_benchmark(task);
  return "undecided: one seed; " + weigh(paper_score(task, "rope"), kPaperBestCropeHellaswag, benchmark.items);
}

std::string paper_spread_verdict(std::string_view task) {
  const PaperBenchmark& benchmark = paper_benchmark(task);
  const double above = (benchmark.high - benchmark.chance) / standard_error(benchmark.high, benchmark.items);
  if (above < 0) {
    return fmt::format("undecided: at chance; even {:.3f} is {:.1f} standard errors under {:.2f}", benchmark.high,
                       -above, benchmark.chance);
  }
  return "undecided: one seed; " + weigh(benchmark.high, benchmark.low, benchmark.items);
}

}  // namespace crope::study
