#include "crope/study/accuracy.h"

#include <fmt/format.h>

#include <cmath>
#include <iterator>

#include "crope/base/progress.h"

namespace crope::study {
namespace {

bool has_items(const Scores& scores) {
  for (const Score* score : scores) {
    if (score->leaves.empty()) return false;
  }
  return true;
}

// Adds sign / seeds for each correct answer of each item, leaves in alphabetical order.
void add_answers(const Scores& scores, double sign, std::vector<double>& items) {
  const double weight = sign / static_cast<double>(scores.size());
  for (const Score* score : scores) {
    std::size_t item = 0;
    for (const auto& [task, correct] : score->leaves) {
      if (items.size() < item + correct.size()) items.resize(item + correct.size());
      for (const char answer : correct) items[item++] += answer == '1' ? weight : 0;
    }
  }
}

// Variance of a mean over items. The divisor is the number of items, as in McNemar's test.
double variance_of_mean(const std::vector<double>& items) {
  const auto n = static_cast<double>(items.size());
  double mean = 0, squares = 0;
  for (const double value : items) mean += value / n;
  for (const double value : items) squares += (value - mean) * (value - mean);
  return squares / n / n;
}

double recorded_variance(const Scores& scores) {
  double sum = 0;
  for (const Score* score : scores) sum += std::pow(score->error.value_or(0), 2);
  return sum / static_cast<double>(scores.size());
}

// Variance over items of the seed-averaged difference of a and b; of a alone without b.
double item_variance(const Scores& a, const Scores& b) {
  if (!has_items(a) || !has_items(b)) return recorded_variance(a) + (b.empty() ? 0 : recorded_variance(b));
  std::vector<double> items;
  add_answers(a, 1, items);
  if (!b.empty()) add_answers(b, -1, items);
  return variance_of_mean(items);
}

// Seeds with equal differences still have the variance of their items.
Difference with_items(const std::vector<double>& seeds, double items) {
  const Difference difference = seed_difference(seeds);
  return {difference.mean, std::sqrt(std::pow(difference.standard_error, 2) + items), difference.seeds};
}

std::vector<double> differences_by_seed(const Scores& a, const Scores& b) {
  std::vector<double> seeds;
  for (std::size_t s = 0; s < a.size(); ++s) seeds.push_back(a[s]->value - b[s]->value);
  return seeds;
}

// Residual variance after the means of variants and of seeds.
double residual_variance(std::span<const Scores> variants) {
  const std::size_t groups = variants.size(), seeds = variants.front().size();
  const auto k = static_cast<double>(groups), n = static_cast<double>(seeds);
  std::vector<double> of_variant(groups), of_seed(seeds);
  double mean = 0;
  for (std::size_t v = 0; v < groups; ++v) {
    for (std::size_t s = 0; s < seeds; ++s) {
      const double value = variants[v][s]->value;
      of_variant[v] += value / n;
      of_seed[s] += value / k;
      mean += value / n / k;
    }
  }
  double squares = 0;
  for (std::size_t v = 0; v < groups; ++v) {
    for (std::size_t s = 0; s < seeds; ++s) {
      squares += std::pow(variants[v][s]->value - of_variant[v] - of_seed[s] + mean, 2);
    }
  }
  return squares / ((k - 1) * (n - 1));
}

}  // namespace

std::string comparison_problem(std::span<const Scores> scores) {
  const Score* first = nullptr;
  for (const Scores& variant : scores) {
    for (const Score* score : variant) {
      if (!score->problem.empty()) return score->problem;
      if (score->leaves.empty()) {
        if (!score->error) return "there are neither items.jsonl nor standard errors; run 'crope eval' again";
        continue;
      }
      if (first == nullptr) first = score;
      for (const auto& [task, correct] : first->leaves) {
        const auto found = score->leaves.find(task);
        if (found == score->leaves.end()) return fmt::format("{} is in some items.jsonl and not in others", task);
        if (found->second.size() == correct.size()) continue;
        return fmt::format("{} has {} items in one items.jsonl and {} in another", task,
                           format_grouped(std::ssize(correct)), format_grouped(std::ssize(found->second)));
      }
      if (score->leaves.size() != first->leaves.size()) return "the items.jsonl files have different tasks";
    }
  }
  return "";
}

Difference accuracy_difference(const Scores& a, const Scores& b) {
  return with_items(differences_by_seed(a, b), item_variance(a, b));
}

Difference accuracy_above(const Scores& scores, double chance) {
  std::vector<double> seeds;
  for (const Score* score : scores) seeds.push_back(score->value - chance);
  return with_items(seeds, item_variance(scores, {}));
}

std::vector<Difference> pairwise_differences(std::span<const Scores> variants) {
  const std::size_t seeds = variants.front().size();
  const double of_seeds = 2 * residual_variance(variants) / static_cast<double>(seeds);
  std::vector<Difference> pairs;
  for (std::size_t i = 0; i < variants.size(); ++i) {
    for (std::size_t j = i + 1; j < variants.size(); ++j) {
      const double mean = summarize(differences_by_seed(variants[i], variants[j])).mean;
      pairs.push_back({mean, std::sqrt(of_seeds + item_variance(variants[i], variants[j])), seeds});
    }
  }
  return pairs;
}

}  // namespace crope::study
