#include "crope/study/score_claims.h"

#include <fmt/format.h>

#include <algorithm>

#include "crope/model/variant.h"
#include "crope/study/accuracy.h"
#include "crope/study/benchmarks.h"
#include "crope/study/paper_figures.h"

namespace crope::study {
namespace {

const Score* score_of(const StudyRun& run, std::string_view task) {
  const auto found = run.scores.find(std::string(task));
  return found == run.scores.end() ? nullptr : &found->second;
}

bool has_score(const Runs& runs, std::string_view task, std::string_view variant) {
  const auto found = runs.find(variant);
  return found != runs.end() &&
         std::ranges::any_of(found->second, [&](const auto& each) { return score_of(*each.second, task) != nullptr; });
}

// Scores of several variants on the seeds that all of them have.
struct CommonScores {
  std::vector<std::string> names;
  std::vector<Scores> scores;  // of each name, seed by seed
  std::string problem;

  std::size_t seeds() const { return scores.front().size(); }
};

CommonScores common_scores(const Runs& runs, std::string_view task, std::vector<std::string> names) {
  CommonScores common{.names = std::move(names), .scores = {}, .problem = {}};
  std::map<std::int64_t, std::size_t> count;
  for (const std::string& name : common.names) {
    if (!has_score(runs, task, name)) {
      common.problem = fmt::format("no {} score of {}", benchmark_by_task(task).name, name);
      return common;
    }
    for (const auto& [seed, run] : runs.find(name)->second) {
      if (score_of(*run, task) != nullptr) ++count[seed];
    }
  }
  for (const std::string& name : common.names) {
    Scores& scores = common.scores.emplace_back();
    for (const auto& [seed, run] : runs.find(name)->second) {
      const Score* score = score_of(*run, task);
      if (score != nullptr && count[seed] == common.names.size()) scores.push_back(score);
    }
  }
  common.problem = comparison_problem(common.scores);
  if (common.problem.empty() && common.seeds() == 0) common.problem = "the variants have no seed in common";
  return common;
}

double mean_score(const Scores& scores) {
  double sum = 0;
  for (const Score* score : scores) sum += score->value;
  return sum / static_cast<double>(scores.size());
}

// A comparison of scores: undecided where any of them does not exceed chance.
template <typename Test>
Case tested_scores(Claim claim, const CommonScores& common, std::string_view task, std::string opposite,
                   const Test& test) {
  claim.reason = common.problem;
  if (!claim.reason.empty()) return {std::move(claim)};
  const double chance = benchmark_by_task(task).chance;
  if (common.seeds() >= 2) {
    for (std::size_t i = 0; i < common.names.size(); ++i) {
      if (is_above_chance(accuracy_above(common.scores[i], chance))) continue;
      claim.seeds = common.seeds();
      claim.verdict = Verdict::undecided;
      claim.reason =
          fmt::format("at chance: {} {:.4f}, chance {:.2f}", common.names[i], mean_score(common.scores[i]), chance);
      return {std::move(claim)};
    }
  }
  return tested(std::move(claim), common.seeds(), std::move(opposite), test);
}

std::string describe_scores(const CommonScores& common) {
  if (!common.problem.empty()) return "-";
  const double a = mean_score(common.scores[0]), b = mean_score(common.scores[1]);
  return fmt::format("{:.4f} against {:.4f}, {:+.4f}", a, b, a - b);
}

// The variants that have a score of the task, in the order of the paper's table.
std::vector<std::string> scored_variants(const Runs& runs, std::string_view task) {
  std::vector<std::string> names;
  for (const model::VariantTraits& row : model::kVariants) {
    if (has_score(runs, task, row.name)) names.emplace_back(row.name);
  }
  return names;
}

std::string describe_range(const CommonScores& common) {
  if (!common.problem.empty()) return "-";
  std::vector<double> means;
  for (const Scores& scores : common.scores) means.push_back(mean_score(scores));
  const auto [low, high] = std::ranges::minmax(means);
  return fmt::format("{:.4f} to {:.4f} over {} variants", low, high, means.size());
}

std::string missing_variants(std::size_t measured) {
  const std::size_t all = model::kVariants.size();
  return measured == all ? "" : fmt::format("only {} of {} variants have scores", measured, all);
}

}  // namespace

Case score_order(const Runs& runs, std::string_view task, const std::string& better, const std::string& worse) {
  Claim claim = unmeasured(fmt::format("{}: {} better than {}", task, better, worse),
                           paper_scores_text(task, better, worse), paper_difference_verdict(task, better, worse));
  const CommonScores common = common_scores(runs, task, {better, worse});
  claim.ours = describe_scores(common);
  return tested_scores(std::move(claim), common, task, "the score is lower",
                       [&] { return order_evidence(accuracy_difference(common.scores[0], common.scores[1])); });
}

Case score_closeness(const Runs& runs, std::string_view task, const std::string& variant, double margin) {
  Claim claim = unmeasured(fmt::format("{}: {} close to rope (within {:.4g} points)", task, variant, 100 * margin),
                           paper_scores_text(task, variant, "rope"), paper_difference_verdict(task, "rope", variant));
  const CommonScores common = common_scores(runs, task, {variant, "rope"});
  claim.ours = describe_scores(common);
  return tested_scores(std::move(claim), common, task, "the difference exceeds the margin", [&] {
    return closeness_evidence(accuracy_difference(common.scores[0], common.scores[1]), margin);
  });
}

Case score_best(const Runs& runs, std::string_view task) {
  const auto of_paper = paper_score(task, "rope");
  Claim claim = unmeasured(fmt::format("{}: rope is best", task), of_paper ? fmt::format("{:.3f}", *of_paper) : "-",
                           paper_best_verdict(task));
  const std::vector<std::string> names = scored_variants(runs, task);
  if (names.size() < 2 || names.front() != "rope") {
    claim.reason = fmt::format("no {} score of rope and another variant", benchmark_by_task(task).name);
    return {std::move(claim)};
  }
  const CommonScores common = common_scores(runs, task, names);
  claim.ours = describe_range(common);
  Case result = tested_scores(std::move(claim), common, task, "another variant is better", [&] {
    std::vector<Difference> differences;
    for (std::size_t i = 1; i < common.scores.size(); ++i) {
      differences.push_back(accuracy_difference(common.scores[0], common.scores[i]));
    }
    return best_evidence(differences);
  });
  result.obstacle = missing_variants(names.size());
  return result;
}

Case score_spread(const Runs& runs, std::string_view task, double margin) {
  const PaperBenchmark& paper = paper_benchmark(task);
  Claim claim = unmeasured(fmt::format("{}: no difference between variants (within {:.4g} points)", task, 100 * margin),
                           fmt::format("{:.3f} to {:.3f}", paper.low, paper.high), paper_spread_verdict(task));
  const std::vector<std::string> names = scored_variants(runs, task);
  if (names.size() < 2) {
    claim.reason = fmt::format("fewer than two variants have {} scores", benchmark_by_task(task).name);
    return {std::move(claim)};
  }
  const CommonScores common = common_scores(runs, task, names);
  claim.ours = describe_range(common);
  Case result = tested_scores(std::move(claim), common, task, "the variants differ", [&] {
    return spread_evidence(pairwise_differences(common.scores), static_cast<int>(names.size()), margin);
  });
  result.obstacle = missing_variants(names.size());
  return result;
}

}  // namespace crope::study
