// The verdicts of a study, for people.
#pragma once

#include <span>

#include "crope/study/claims.h"
#include "crope/study/loss_claims.h"

namespace crope::cli {

// Claim, the paper's figure, ours with its interval, number of seeds, p and verdict; under each claim the reason, and
// the verdict on the paper's own figures.
void print_claims(std::span<const study::Claim> claims);

// Losses on texts other than the validation set. Prints nothing without any.
void print_text_losses(std::span<const study::TextLoss> losses);

}  // namespace crope::cli
