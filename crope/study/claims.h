// The claims of the paper, held against outcomes of our own.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "crope/study/experiment.h"

namespace crope::study {

enum class Verdict { holds, within_noise, does_not_hold, not_measured };

std::string_view verdict_name(Verdict verdict);

struct Claim {
  std::string text;
  std::string paper;  // its figure for it
  std::string ours;   // with its error, where there is one
  Verdict verdict;
};

// A mean with its standard error. Of one value the error is not known.
struct Estimate {
  double mean = 0;
  std::optional<double> error;
};

// Of a difference, seed by seed. REQUIRES: not empty.
Estimate estimate(std::span<const double> values);

// Whether a difference is above zero: beyond two standard errors it is, or is not; between them it is noise. Without an
// error its sign decides.
Verdict above_zero(const Estimate& difference);

// `outcomes` are those of any variants and seeds; the n-th of a variant goes with the n-th of another. A claim about a
// variant that is missing is not measured.
std::vector<Claim> judge_claims(std::span<const Outcome> outcomes);

}  // namespace crope::study
