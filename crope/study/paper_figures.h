// The paper's own figures, and the verdict of our rules on its claims. The paper has one seed per variant
// and prints no losses, so that only its scores can be weighed, by the standard errors of their items.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace crope::study {

struct PaperScore {
  std::string_view task;
  std::string_view variant;
  double value;
};

struct PaperBenchmark {
  std::string_view task;
  std::int64_t items;  // of the whole benchmark
  double low;          // range over all variants; 0 where the paper prints none
  double high;
};

struct PaperSaving {
  std::string_view variant;
  double saving;  // share of the attention parameters of rope
};

inline constexpr PaperSaving kPaperSavings[] = {{"crope_qk", 0.25}, {"crope_qkv", 0.375}, {"crope_all", 0.5}};

// "CRoPE nearly matches this result at 0.329": the paper does not name the variant.
inline constexpr double kPaperBestCropeHellaswag = 0.329;

inline constexpr PaperScore kPaperScores[] = {
    {"hellaswag", "rope", 0.331}, {"hellaswag", "crope_all", 0.327}, {"hellaswag", "half_rope_all", 0.320}};

inline constexpr PaperBenchmark kPaperBenchmarks[] = {
    {"hellaswag", 10'042, 0, 0}, {"mmlu", 14'042, 0.229, 0.232}, {"gsm8k", 1'319, 0.012, 0.015}};

// The tasks of the paper's Figure downstream.
std::vector<std::string> paper_tasks();

// REQUIRES: a task of the table.
const PaperBenchmark& paper_benchmark(std::string_view task);

// The score that the paper prints for this variant; nothing if it prints none.
std::optional<double> paper_score(std::string_view task, std::string_view variant);

// "0.327 against 0.320". For HellaSwag of crope_qk and crope_qkv the score whose variant the paper does not name:
// "0.329 (variant not named) against 0.331". "-" if the paper prints no score.
std::string paper_scores_text(std::string_view task, std::string_view one, std::string_view other);

// (a - b) over the standard error of that difference, as if the two scores were of different items: the paper gives no
// answers item by item.
double unpaired_standard_errors(double a, double b, std::int64_t items);

// Verdicts on the paper's own figures, "undecided: one seed; ...".
std::string paper_loss_verdict();
std::string paper_stability_verdict();
std::string paper_difference_verdict(std::string_view task, std::string_view one, std::string_view other);
std::string paper_best_verdict(std::string_view task);
std::string paper_spread_verdict(std::string_view task);

}  // namespace crope::study
