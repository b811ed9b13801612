// Claims about validation losses and training curves.
#pragma once

#include <string_view>

#include "crope/study/claim_case.h"

namespace crope::study {

// "validation loss: A below B", by the differences of the last val_loss, seed by seed. Seeds with a loss that is not
// finite are skipped, and the variant that has one cannot be shown to be better, or close.
Case loss_order(const Runs& runs, std::string_view better, std::string_view worse);

// "validation loss: A close to rope". The margin is relative to the mean loss of rope.
Case loss_closeness(const Runs& runs, std::string_view variant, double relative_margin);

// "training is stable". Judged by the rule of stability.h, not by a test. `runs` are all runs, also those that stopped
// early.
Case stability_case(const Runs& runs);

}  // namespace crope::study
