#include "crope/study/loss_claims.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <set>

#include "crope/model/variant.h"
#include "crope/study/paper_figures.h"
#include "crope/study/stability.h"

namespace crope::study {
namespace {

bool has_loss(const StudyRun& run) {
  return run.val_loss && std::isfinite(*run.val_loss);
}

struct LossPairs {
  std::vector<double> a, b;  // seed by seed
  std::string problem;       // why there are none; empty otherwise

  std::vector<double> differences() const {
    std::vector<double> found;
    for (std::size_t i = 0; i < a.size(); ++i) found.push_back(b[i] - a[i]);
    return found;
  }
};

LossPairs loss_pairs(const Runs& runs, std::string_view a, std::string_view b) {
  LossPairs pairs;
  for (const std::string_view variant : {a, b}) {
    const auto found = runs.find(variant);
    if (found == runs.end()) {
      pairs.problem = fmt::format("no run of {}", variant);
    } else if (std::ranges::none_of(found->second, [](const auto& each) { return has_loss(*each.second); })) {
      pairs.problem = fmt::format("no finite val_loss in metrics.jsonl of {}", variant);
    }
    if (!pairs.problem.empty()) return pairs;
  }
  for (const auto& [seed, run] : runs.find(a)->second) {
    const auto other = runs.find(b)->second.find(seed);
    if (other == runs.find(b)->second.end() || !has_loss(*run) || !has_loss(*other->second)) continue;
    pairs.a.push_back(*run->val_loss);
    pairs.b.push_back(*other->second->val_loss);
  }
  if (pairs.a.empty()) pairs.problem = fmt::format("{} and {} have no seed in common", a, b);
  return pairs;
}

std::string describe_losses(const LossPairs& pairs) {
  const double a = summarize(pairs.a).mean, b = summarize(pairs.b).mean;
  return fmt::format("{:.4f} against {:.4f}, {:+.4f} nat", a, b, b - a);
}

}  // namespace

Case loss_order(const Runs& runs, std::string_view better, std::string_view worse) {
  Claim claim = unmeasured(fmt::format("validation loss: {} below {}", better, worse),
                           better == "rope" ? "rope is lowest" : "lower", paper_loss_verdict());
  const LossPairs pairs = loss_pairs(runs, better, worse);
  claim.reason = pairs.problem;
  if (!claim.reason.empty()) return {std::move(claim)};
  claim.ours = describe_losses(pairs);
  return tested(std::move(claim), pairs.a.size(), "the loss is higher",
                [&] { return order_evidence(seed_difference(pairs.differences())); });
}

Case loss_closeness(const Runs& runs, std::string_view variant, double relative_margin) {
  Claim claim =
      unmeasured(fmt::format("validation loss: {} close to rope (within {:.4g}%)", variant, 100 * relative_margin),
                 "negligible impact", paper_loss_verdict());
  const LossPairs pairs = loss_pairs(runs, "rope", variant);
  claim.reason = pairs.problem;
  if (!claim.reason.empty()) return {std::move(claim)};
  claim.ours = describe_losses(pairs);
  return tested(std::move(claim), pairs.a.size(), "the difference exceeds the margin", [&] {
    return closeness_evidence(seed_difference(pairs.differences()), relative_margin * summarize(pairs.a).mean);
  });
}

Case stability_case(const Runs& runs) {
  Claim claim = unmeasured(
      fmt::format("training is stable: after warm-up, no loss exceeds the median of the {} steps before by {} nat, no "
                  "gradient norm exceeds it {} times, and the loss does not end {} nat above its lowest median",
                  kStabilityWindow, kLossJump, kNormJump, kLossJump),
      "all variants", paper_stability_verdict());
  if (runs.empty()) {
    claim.reason = "no runs";
    return {std::move(claim)};
  }
  std::size_t count = 0, unstable = 0, steps = 0, seeds = runs.begin()->second.size();
  std::string first;
  for (const auto& [variant, of_seeds] : runs) {
    seeds = std::min(seeds, of_seeds.size());
    for (const auto& [seed, run] : of_seeds) {
      const Stability stability = check_stability(*run);
      ++count;
      steps += stability.steps_checked;
      if (!stability.is_stable && unstable++ == 0) first = stability.problem;
      if (stability.steps_checked > 0 || !stability.is_stable) continue;
      claim.reason = fmt::format("metrics.jsonl of {} has no step after warm-up with {} steps before it", run->name,
                                 kStabilityWindow);
      return {std::move(claim)};
    }
  }
  claim.seeds = seeds;
  claim.ours = unstable == 0 ? fmt::format("all of {} runs, {} steps", count, steps)
                             : fmt::format("{} of {} runs unstable", unstable, count);
  claim.verdict = seeds < 2 ? Verdict::undecided : unstable == 0 ? Verdict::holds : Verdict::does_not_hold;
  claim.reason = seeds < 2 ? "one seed" : "checked step by step";
  if (unstable > 0) claim.reason += "; " + first;
  return {std::move(claim)};
}

}  // namespace crope::study
