// The losses of the run that is being served, while it may still be running. Answers GET /api/run?after=STEP.
#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>

#include "crope/base/json.h"

namespace crope::serve {

// Reads metrics.jsonl as it grows, each line once. Several threads may ask at once.
class RunView {
 public:
  // `dir` is what is served: a run directory, or a model directory, which has nothing to show.
  explicit RunView(std::filesystem::path dir);
  ~RunView();
  RunView(const RunView&) = delete;
  RunView& operator=(const RunView&) = delete;

  // Whether `dir` is a run directory at this moment.
  bool is_run() const;

  // {"run": is_run(), "last_step": N, "steps": of the whole run or null, "train": [[step, loss]...],
  //  "val": [[step, loss]...], "latest": the newest line of an update, or null}
  // with the points of steps after `after`. Of more than kMaxPoints updates, each point is the mean of several, at the
  // step of the last. A line that is half written is read when it is whole; damaged lines are skipped. A run that
  // was set back, whose last_step is less than what the reader has, must be read again with after = 0.
  // Throws Error if the file cannot be read.
  Json after(std::int64_t step);

  static constexpr std::size_t kMaxPoints = 4000;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace crope::serve
