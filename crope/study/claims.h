// The claims of the paper, judged on the runs of a study (docs/claims.md).
#pragma once

#include <array>
#include <optional>
#include <string>
#include <vector>

#include "crope/base/json.h"
#include "crope/base/statistics.h"
#include "crope/study/decision.h"
#include "crope/study/study_data.h"

namespace crope::study {

// Differences within these are too small to matter.
struct Margins {
  double loss = 0.0025;     // relative to the loss of rope
  double accuracy = 0.005;  // share of items
};

struct Claim {
  std::string text;
  std::string paper;  // the paper's figure
  std::string ours;   // "-" where nothing was measured
  std::optional<Interval> interval;
  std::size_t seeds = 0;    // pairs of runs; 0 where the claim needs none
  std::optional<double> p;  // before the correction for several claims
  Verdict verdict = Verdict::not_measured;
  std::string reason;
  std::string paper_verdict;  // of the paper's own figures, by the same rules: "undecided: one seed; ..."
};

// All claims, always the same ones in the same order.
std::vector<Claim> judge_claims(const Study& study, const Margins& margins = {});

// The columns of a table of claims, for every place that shows one.
inline constexpr std::array<const char*, 9> kClaimColumns = {
    "claim", "paper", "ours", "interval", "n", "p", "verdict", "reason", "the paper's own figures"};

// A row of that table: "-" where there is no interval, n or p.
std::vector<std::string> claim_cells(const Claim& claim);

// Array of {"claim", "paper", "ours", "interval", "n", "p", "verdict", "reason", "paper_verdict"}.
Json claims_to_json(const std::vector<Claim>& claims);

}  // namespace crope::study
