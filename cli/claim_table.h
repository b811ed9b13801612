// The verdicts of a study, for people.
#pragma once

#include <span>

#include "crope/study/claims.h"

namespace crope::cli {

// Claim, the paper's figure, ours with its interval, number of seeds, p and verdict; under each claim the reason, and
// the verdict on the paper's own figures.
void print_claims(std::span<const study::Claim> claims);

// Prints the claims as one Markdown table.
void print_claims_markdown(std::span<const study::Claim> claims);

}  // namespace crope::cli
