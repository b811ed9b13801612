#include "crope/study/claims.h"

#include <fmt/format.h>

#include "crope/study/loss_claims.h"
#include "crope/study/parameter_claims.h"
#include "crope/study/score_claims.h"

namespace crope::study {
namespace {

std::vector<Case> tested_cases(const Runs& runs, const Runs& all_runs, const Margins& margins) {
  return {
      loss_order(runs, "rope", "crope_qk"),
      loss_order(runs, "rope", "crope_qkv"),
      loss_order(runs, "rope", "crope_all"),
      loss_order(runs, "rope", "half_rope_qk"),
      loss_order(runs, "rope", "half_rope_all"),
      loss_order(runs, "crope_all", "half_rope_all"),
      loss_order(runs, "crope_qk", "half_rope_qk"),
      loss_order(runs, "crope_qkv", "half_rope_qk"),
      loss_closeness(runs, "crope_all", margins.loss),
      stability_case(all_runs),
      score_best(runs, "hellaswag"),
      score_closeness(runs, "hellaswag", "crope_qk", margins.accuracy),
      score_closeness(runs, "hellaswag", "crope_qkv", margins.accuracy),
      score_closeness(runs, "hellaswag", "crope_all", margins.accuracy),
      score_order(runs, "hellaswag", "crope_all", "half_rope_all"),
      score_spread(runs, "mmlu", margins.accuracy),
      score_spread(runs, "gsm8k", margins.accuracy),
  };
}

constexpr double kSmallestP = 1e-4;  // that is printed

std::string format_p(double p) {
  return p < kSmallestP ? "< 0.0001" : fmt::format("= {:.4f}", p);
}

void settle(Case& each, const Decision& decision) {
  Claim& claim = each.claim;
  claim.verdict = decision.verdict;
  claim.reason = fmt::format("p {} after Holm's correction", format_p(decision.adjusted_p));
  if (claim.verdict == Verdict::undecided) claim.reason += fmt::format("; a verdict needs {} or less", kLevel);
  if (claim.verdict == Verdict::does_not_hold) claim.reason = fmt::format("{}: {}", each.opposite, claim.reason);
  if (!each.evidence->problem.empty()) claim.reason = each.evidence->problem;
  const std::string& obstacle = claim.verdict == Verdict::holds           ? each.obstacle
                                : claim.verdict == Verdict::does_not_hold ? each.counter_obstacle
                                                                          : std::string();
  if (obstacle.empty()) return;
  claim.verdict = Verdict::undecided;
  claim.reason = obstacle;
}

}  // namespace

std::vector<Claim> judge_claims(const Study& study, const Margins& margins) {
  std::vector<Case> cases = tested_cases(runs_by_variant(study), all_runs_by_variant(study), margins);
  std::vector<Evidence> family;
  for (const Case& each : cases) {
    if (each.evidence) family.push_back(*each.evidence);
  }
  const std::vector<Decision> decisions = decide(family);
  std::vector<Claim> claims = judge_parameters(study);
  std::size_t next = 0;
  for (Case& each : cases) {
    if (each.evidence) settle(each, decisions[next++]);
    const bool names_obstacle = each.claim.reason == each.obstacle || each.claim.reason == each.counter_obstacle;
    if (!each.note.empty() && !names_obstacle) each.claim.reason += "; " + each.note;
    claims.push_back(std::move(each.claim));
  }
  return claims;
}

std::vector<std::string> claim_cells(const Claim& claim) {
  const std::string interval =
      claim.interval ? fmt::format("[{:+.4f}, {:+.4f}]", claim.interval->low, claim.interval->high) : "-";
  const std::string p = !claim.p ? "-" : *claim.p < kSmallestP ? "<0.0001" : fmt::format("{:.4f}", *claim.p);
  return {claim.text,
          claim.paper,
          claim.ours,
          interval,
          claim.seeds == 0 ? "-" : std::to_string(claim.seeds),
          p,
          std::string(verdict_name(claim.verdict)),
          claim.reason,
          claim.paper_verdict};
}

Json claims_to_json(const std::vector<Claim>& claims) {
  Json rows = Json::array();
  for (const Claim& claim : claims) {
    rows.push_back({{"claim", claim.text},
                    {"paper", claim.paper},
                    {"ours", claim.ours},
                    {"interval", claim.interval ? Json({claim.interval->low, claim.interval->high}) : Json(nullptr)},
                    {"n", claim.seeds},
                    {"p", claim.p ? Json(*claim.p) : Json(nullptr)},
                    {"verdict", verdict_name(claim.verdict)},
                    {"reason", claim.reason},
                    {"paper_verdict", claim.paper_verdict}});
  }
  return rows;
}

}  // namespace crope::study
