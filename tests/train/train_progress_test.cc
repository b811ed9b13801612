#include "crope/train/train_progress.h"

#include <gtest/gtest.h>

#include "crope/base/error.h"

namespace crope::train {
namespace {

SavedState some_state() {
  return {.progress = {.step = 5,
                       .tokens = 80,
                       .elapsed_s = 1.5,
                       .loader = {.position = 10, .seed = 3, .corpus_tokens = 1000, .seq_len = 8},
                       .best = BestValidation{4, 2.5}},
          .optimizer_steps = 6,
          .file_hashes = {{"config.json", "0123456789abcdef"}}};
}

TEST(TrainProgress, ComesBackAsItWas) {
  const SavedState state = saved_state_from_json(to_json(some_state()), "state");
  EXPECT_EQ(state.progress.step, 5);
  EXPECT_EQ(state.progress.tokens, 80u);
  EXPECT_EQ(state.progress.elapsed_s, 1.5);
  EXPECT_EQ(state.progress.loader.position, 10u);
  EXPECT_EQ(state.progress.best->step, 4);
  EXPECT_EQ(state.progress.best->val_loss, 2.5);
  EXPECT_EQ(state.optimizer_steps, 6);
  EXPECT_EQ(state.file_hashes["config.json"], "0123456789abcdef");
  EXPECT_TRUE(state.has_own_hash);
  SavedState first = some_state();
  first.progress.best.reset();
  EXPECT_FALSE(saved_state_from_json(to_json(first), "state").progress.best);
}

TEST(TrainProgress, EveryFieldIsHashedAndNeeded) {
  const Json good = to_json(some_state());
  for (const auto& [key, value] : good.items()) {
    if (key == "state_hash") continue;
    Json edited = good;
    edited[key] = key == "version" ? Json(2) : Json("edited");
    EXPECT_THROW(saved_state_from_json(edited, "state"), Error) << key;
    Json without = good;
    without.erase(key);
    without.erase("state_hash");
    if (key == "best") continue;  // of a run that has validated nothing
    EXPECT_THROW(saved_state_from_json(without, "state"), Error) << key;
  }
  Json old = good;
  old.erase("state_hash");
  EXPECT_FALSE(saved_state_from_json(old, "state").has_own_hash);
}

}  // namespace
}  // namespace crope::train
