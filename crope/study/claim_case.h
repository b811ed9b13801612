// A claim on its way to a verdict: the runs that bear on it, and their evidence.
#pragma once

#include <fmt/format.h>

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "crope/study/claims.h"

namespace crope::study {

// A claim with its evidence, where there is any to be tested.
struct Case {
  Claim claim;
  std::optional<Evidence> evidence = {};
  std::string opposite = {};          // what is shown if the claim does not hold: "the variants differ"
  std::string obstacle = {};          // why the evidence cannot make the claim hold; empty if it can
  std::string counter_obstacle = {};  // why the evidence cannot make the claim fail; empty if it can
  std::string note = {};              // added to the reason of any verdict
};

using Seeds = std::map<std::int64_t, const StudyRun*>;
using Runs = std::map<std::string, Seeds, std::less<>>;  // by variant

// Pointers into `study`, also to runs that stopped early.
inline Runs all_runs_by_variant(const Study& study) {
  Runs runs;
  for (const StudyRun& run : study.runs) runs[run.variant].emplace(run.seed, &run);
  return runs;
}

// Pointers to the finished runs of `study`.
inline Runs runs_by_variant(const Study& study) {
  Runs runs;
  for (const StudyRun& run : study.runs) {
    if (run.is_finished) runs[run.variant].emplace(run.seed, &run);
  }
  return runs;
}

// A claim without evidence yet.
inline Claim unmeasured(std::string text, std::string paper, std::string paper_verdict) {
  return {.text = std::move(text), .paper = std::move(paper), .ours = "-", .paper_verdict = std::move(paper_verdict)};
}

// "1 run", "2 runs".
inline std::string counted(std::size_t count, std::string_view noun) {
  return fmt::format("{} {}{}", count, noun, count == 1 ? "" : "s");
}

// Calls test() for the evidence, unless there is only one seed: never a verdict from one seed.
template <typename Test>
Case tested(Claim claim, std::size_t seeds, std::string opposite, const Test& test) {
  claim.seeds = seeds;
  if (seeds < 2) {
    claim.verdict = Verdict::undecided;
    claim.reason = "one seed";
    return {std::move(claim)};
  }
  const Evidence evidence = test();
  if (evidence.problem.empty()) claim.interval = evidence.interval;
  claim.p = evidence.p;
  return {std::move(claim), evidence, std::move(opposite)};
}

}  // namespace crope::study
