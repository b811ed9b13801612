// Claims about validation losses and training curves.
#pragma once

#include <string_view>

#include "crope/study/claim_case.h"

namespace crope::study {

// "validation loss: A below B", by the differences of the last val_loss, seed by seed.
Case loss_order(const Runs& runs, std::string_view better, std::string_view worse);

// "validation loss: A close to rope". The margin is relative to the mean loss of rope.
Case loss_closeness(const Runs& runs, std::string_view variant, double relative_margin);

// "training is stable". Judged by the rule of stability.h on all runs, not by a test.
Case stability_case(const Runs& runs);

// A text other than the validation set: the last val_loss_<text> of a variant. These are shown, not judged.
struct TextLoss {
  std::string text;
  std::string variant;
  std::size_t seeds = 0;
  double mean = 0;
  std::optional<double> above_rope;  // mean difference over the seeds that rope has too
  std::optional<Interval> interval;  // its 95% interval; none for fewer than two pairs
};

// By text, then by variant in the order of the paper's table.
std::vector<TextLoss> other_text_losses(const Study& study);

}  // namespace crope::study
