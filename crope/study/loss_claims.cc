#include "crope/study/loss_claims.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <set>

#include "crope/base/progress.h"
#include "crope/model/variant.h"
#include "crope/study/paper_figures.h"
#include "crope/study/seed_pairs.h"
#include "crope/study/stability.h"

namespace crope::study {
namespace {

struct LossPairs {
  SeedPairs pairs;
  double resolution = 0;                                    // of the study's losses
  std::vector<const StudyRun*> not_finite_a, not_finite_b;  // runs whose pair is skipped
  std::string problem;                                      // why there are no pairs; empty otherwise

  std::size_t seeds() const { return pairs.a.size(); }
  Difference difference() const { return seed_difference(pairs.differences(), resolution); }
  std::vector<const StudyRun*> all_not_finite() const {
    std::vector<const StudyRun*> runs = not_finite_a;
    runs.insert(runs.end(), not_finite_b.begin(), not_finite_b.end());
    return runs;
  }
};

BySeed finite_losses(const Seeds& runs, std::vector<const StudyRun*>& not_finite) {
  BySeed losses;
  for (const auto& [seed, run] : runs) {
    if (!run->val_loss) continue;
    if (std::isfinite(*run->val_loss)) {
      losses[seed] = *run->val_loss;
    } else {
      not_finite.push_back(run);
    }
  }
  return losses;
}

double loss_resolution(const Runs& runs) {
  std::vector<double> losses;
  for (const auto& [variant, seeds] : runs) {
    for (const auto& [seed, run] : seeds) {
      if (run->val_loss && std::isfinite(*run->val_loss)) losses.push_back(*run->val_loss);
    }
  }
  return resolution_of(losses);
}

LossPairs loss_pairs(const Runs& runs, std::string_view a, std::string_view b) {
  LossPairs result;
  result.resolution = loss_resolution(runs);
  const auto losses_of = [&](std::string_view variant, std::vector<const StudyRun*>& not_finite) -> BySeed {
    const auto found = runs.find(variant);
    BySeed losses = found == runs.end() ? BySeed() : finite_losses(found->second, not_finite);
    if (!losses.empty() || !result.problem.empty()) return losses;
    result.problem = found == runs.end() ? fmt::format("no run of {}", variant)
                                         : fmt::format("no finite val_loss in metrics.jsonl of {}", variant);
    return losses;
  };
  const BySeed of_a = losses_of(a, result.not_finite_a), of_b = losses_of(b, result.not_finite_b);
  if (!result.problem.empty()) return result;
  result.pairs = pair_by_seed(of_a, of_b);
  if (result.seeds() == 0) result.problem = fmt::format("{} and {} have no seed in common", a, b);
  return result;
}

std::string describe_losses(const SeedPairs& pairs) {
  const double a = summarize(pairs.a).mean, b = summarize(pairs.b).mean;
  return fmt::format("{:.4f} against {:.4f}, {:+.4f} nat", a, b, b - a);
}

std::size_t skipped_seeds(const LossPairs& losses) {
  std::set<std::int64_t> seeds;
  for (const auto& runs : {losses.not_finite_a, losses.not_finite_b}) {
    for (const StudyRun* run : runs) seeds.insert(run->seed);
  }
  return seeds.size();
}

std::string describe_not_finite(const std::vector<const StudyRun*>& runs) {
  std::vector<std::string> names;
  for (const StudyRun* run : runs) names.push_back(run->name);
  return fmt::format("{}: the last val_loss is not finite", fmt::join(names, ", "));
}

// Why a claim cannot be decided in favour of a variant with these runs; empty without any.
std::string obstacle_of(const LossPairs& losses, const std::vector<const StudyRun*>& runs) {
  if (runs.empty()) return "";
  return fmt::format("{}; {} skipped", describe_not_finite(runs), counted(skipped_seeds(losses), "seed"));
}

// "1 seed skipped (crope_all_1: the last val_loss is not finite)"; empty if none was.
std::string skipped_note(const LossPairs& losses) {
  const std::vector<const StudyRun*> runs = losses.all_not_finite();
  if (runs.empty()) return "";
  return fmt::format("{} skipped ({})", counted(skipped_seeds(losses), "seed"), describe_not_finite(runs));
}

std::string stability_rule() {
  return fmt::format(
      "after warm-up, no loss exceeds the median of the {} steps before by {} nat, no gradient norm exceeds its median "
      "{} times, and the loss does not end {} nat above its lowest median",
      kStabilityWindow, kLossJump, kNormJump, kLossJump);
}

// What the runs of a study show about stability.
struct StabilityCount {
  std::size_t runs = 0, steps = 0;
  std::size_t fewest_seeds = 0;
  std::string fewest_variant;      // the variant that has them
  std::size_t unstable = 0;        // runs
  std::string first_problem;       // of a variant with two seeds, if there is one
  bool is_decided = false;         // an unstable run of a variant with two seeds
  std::string stopped, too_short;  // reasons that the claim cannot hold
};

StabilityCount count_stability(const Runs& runs) {
  StabilityCount count;
  std::int64_t last = 0;
  for (const auto& [variant, seeds] : runs) {
    if (count.fewest_variant.empty() || seeds.size() < count.fewest_seeds) {
      count.fewest_seeds = seeds.size();
      count.fewest_variant = variant;
    }
    for (const auto& [seed, run] : seeds) last = std::max({last, run->last_step, run->planned_steps.value_or(0)});
  }
  for (const auto& [variant, seeds] : runs) {
    for (const auto& [seed, run] : seeds) {
      const Stability stability = check_stability(*run);
      ++count.runs;
      count.steps += stability.steps_checked;
      if (!stability.is_stable) {
        const bool decides = seeds.size() > 1;
        if (count.unstable++ == 0 || (decides && !count.is_decided)) count.first_problem = stability.problem;
        count.is_decided = count.is_decided || decides;
        continue;
      }
      const std::int64_t planned = run->planned_steps.value_or(last);
      const bool has_stopped = !run->is_finished || (run->last_step > 0 && run->last_step < planned);
      if (has_stopped && count.stopped.empty()) {
        count.stopped = fmt::format("{} stopped at step {} of {}", run->name, run->last_step, std::max(planned, last));
      }
      if (stability.steps_checked == 0 && !has_stopped && count.too_short.empty()) {
        count.too_short = fmt::format("metrics.jsonl of {} has no step after warm-up with {} steps before it",
                                      run->name, kStabilityWindow);
      }
    }
  }
  return count;
}

}  // namespace

Case loss_order(const Runs& runs, std::string_view better, std::string_view worse) {
  Claim claim = unmeasured(fmt::format("validation loss: {} below {}", better, worse),
                           better == "rope" ? "rope is lowest" : "lower", paper_loss_verdict());
  const LossPairs losses = loss_pairs(runs, better, worse);
  claim.reason = losses.problem;
  if (!claim.reason.empty()) return {std::move(claim)};
  claim.ours = describe_losses(losses.pairs);
  Case result = tested(std::move(claim), losses.seeds(), "the loss is higher",
                       [&] { return order_evidence(losses.difference()); });
  result.obstacle = obstacle_of(losses, losses.not_finite_a);
  result.counter_obstacle = obstacle_of(losses, losses.not_finite_b);
  result.note = skipped_note(losses);
  return result;
}

Case loss_closeness(const Runs& runs, std::string_view variant, double relative_margin) {
  Claim claim =
      unmeasured(fmt::format("validation loss: {} close to rope (within {:.4g}%)", variant, 100 * relative_margin),
                 "negligible impact", paper_loss_verdict());
  const LossPairs losses = loss_pairs(runs, "rope", variant);
  claim.reason = losses.problem;
  if (!claim.reason.empty()) return {std::move(claim)};
  claim.ours = describe_losses(losses.pairs);
  Case result = tested(std::move(claim), losses.seeds(), "the difference exceeds the margin", [&] {
    return closeness_evidence(losses.difference(), relative_margin * summarize(losses.pairs.a).mean);
  });
  result.obstacle = obstacle_of(losses, losses.all_not_finite());
  result.note = skipped_note(losses);
  return result;
}

Case stability_case(const Runs& runs) {
  Claim claim = unmeasured("training is stable (no spikes)", "all variants", paper_stability_verdict());
  const StabilityCount count = count_stability(runs);
  if (count.steps == 0 && count.unstable == 0) {
    claim.reason = count.runs == 0 ? "no runs" : !count.stopped.empty() ? count.stopped : count.too_short;
    return {std::move(claim)};
  }
  claim.seeds = count.fewest_seeds;
  claim.ours = count.unstable == 0 ? fmt::format("all of {}, {}", counted(count.runs, "run"),
                                                 format_grouped(static_cast<std::int64_t>(count.steps)) + " steps")
                                   : fmt::format("{} of {} unstable", count.unstable, counted(count.runs, "run"));
  claim.verdict = Verdict::undecided;
  if (count.is_decided) {
    claim.verdict = Verdict::does_not_hold;
    claim.reason = fmt::format("{}; the rule: {}", count.first_problem, stability_rule());
  } else if (count.unstable > 0) {
    claim.reason = fmt::format("one seed of {}; {}", count.fewest_variant, count.first_problem);
  } else if (!count.stopped.empty()) {
    claim.reason = count.stopped;
  } else if (!count.too_short.empty()) {
    claim.reason = count.too_short;
  } else if (runs.size() < model::kVariants.size()) {
    claim.reason = fmt::format("only {} of {} variants have runs", runs.size(), model::kVariants.size());
  } else if (count.fewest_seeds < 2) {
    claim.reason = fmt::format("one seed of {}", count.fewest_variant);
  } else {
    claim.verdict = Verdict::holds;
    claim.reason = "checked step by step: " + stability_rule();
  }
  return {std::move(claim)};
}

}  // namespace crope::study
