#include "crope/study/run_queue.h"

#include <fmt/format.h>

#include <exception>
#include <mutex>
#include <thread>

#include "crope/base/interrupt.h"
#include "crope/base/progress.h"
#include "crope/base/stopwatch.h"

namespace crope::study {
namespace {

// Hands out experiments to workers and keeps the time.
class Queue {
 public:
  Queue(const std::vector<Experiment>& experiments, Log& log) : experiments_(experiments), log_(log) {}

  // Runs experiments until none is left, one has failed, or a signal has come. Never throws.
  void work() {
    try {
      while (const Experiment* experiment = take()) {
        const auto outcome = run_experiment(*experiment, log_);
        if (!outcome) return;
        finish(*experiment, *outcome);
      }
    } catch (...) {
      const std::scoped_lock lock(mutex_);
      if (!error_) error_ = std::current_exception();
    }
  }

  void throw_error() const {
    if (error_) std::rethrow_exception(error_);
  }

 private:
  const Experiment* take() {
    const std::scoped_lock lock(mutex_);
    if (next_ == experiments_.size() || error_ || interrupt_requested()) return nullptr;
    const Experiment& experiment = experiments_[next_++];
    const char* const state = is_finished_run(experiment.job.run) ? "trained already" : "training";
    log_.info(fmt::format("{} (run {} of {}): {}", name_of(experiment), next_, experiments_.size(), state));
    return &experiment;
  }

  void finish(const Experiment& experiment, const Outcome& outcome) {
    const std::scoped_lock lock(mutex_);
    ++done_;
    std::string line = fmt::format("{}: finished", name_of(experiment));
    if (outcome.val_loss) line += fmt::format(", validation loss {:.4f}", *outcome.val_loss);
    const std::size_t left = experiments_.size() - done_;
    if (left > 0) {
      const double elapsed = watch_.seconds();
      const double each = elapsed / static_cast<double>(done_);
      line += fmt::format("; {} of {} runs done, about {} left", done_, experiments_.size(),
                          format_duration(each * static_cast<double>(left)));
    }
    log_.info(line);
  }

  static std::string name_of(const Experiment& experiment) { return experiment.job.run.filename().string(); }

  const std::vector<Experiment>& experiments_;
  Log& log_;
  const Stopwatch watch_;
  std::mutex mutex_;
  std::size_t next_ = 0, done_ = 0;
  std::exception_ptr error_;
};

}  // namespace

bool run_experiments(const std::vector<Experiment>& experiments, std::int64_t jobs, Log& log) {
  Queue queue(experiments, log);
  if (jobs <= 1) {
    queue.work();
  } else {
    std::vector<std::jthread> workers;
    for (std::int64_t i = 0; i < jobs; ++i) workers.emplace_back([&] { queue.work(); });
  }
  queue.throw_error();
  return !interrupt_requested();
}

}  // namespace crope::study
