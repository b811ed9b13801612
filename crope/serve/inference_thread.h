// The one thread that touches the model.
//
// It steps all sequences together. Others hand it work and wait; new sequences join between two steps, in turns, so
// that a large request does not hold up a small one.
#pragma once

#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <deque>
#include <exception>
#include <functional>
#include <future>
#include <list>
#include <map>
#include <memory>
#include <mutex>
#include <thread>
#include <utility>
#include <vector>

#include "crope/infer/engine.h"

namespace crope::serve {

struct InferenceOptions {
  infer::EngineOptions engine = {};
  std::int64_t max_sequences = 24;  // decoded together
  std::int64_t max_waiting = 512;   // sequences that wait for a place, over all requests
};

// Sequences that were submitted together, and their events. The destructor cancels those still running.
class Ticket {
 public:
  ~Ticket();
  Ticket(const Ticket&) = delete;
  Ticket& operator=(const Ticket&) = delete;

  struct Event {
    std::size_t index;  // of the sequence, among those submitted
    infer::TokenEvent token;
  };

  // The events since the last call; waits for the first until `until`. Empty: nothing came in time, or all
  // sequences have ended. Throws what ended the work early.
  std::vector<Event> wait(std::chrono::steady_clock::time_point until);

  // Cancels the sequence. Events that it has already produced may still follow.
  void cancel(std::size_t index);

 private:
  friend class InferenceThread;
  struct State;
  explicit Ticket(std::shared_ptr<State> state);

  std::shared_ptr<State> state_;
};

// Work for the inference thread that is no sequence. Destroying this before it starts cancels it.
class InferenceTask {
 public:
  // Whether the work has finished. Rethrows its exception.
  bool done();

 private:
  friend class InferenceThread;
  std::function<void()> work_;
  std::function<void()> wake_;
  std::promise<void> promise_;
  std::future<void> future_ = promise_.get_future();
};

class InferenceThread {
 public:
  // The model must outlive it.
  InferenceThread(const model::Transformer& model, const InferenceOptions& options);
  ~InferenceThread();

  // `wake` is called by the inference thread whenever the ticket has something new.
  // Throws ApiError with status 429 if too many wait, and with 503 after stop_admitting().
  // REQUIRES: the engine would admit each of them (openai_request checks).
  std::unique_ptr<Ticket> submit(
      std::vector<infer::SequenceRequest> requests, std::function<void()> wake = [] {});

  // Runs `work` between two steps, at most one such task between any two. `wake` is called when it is over.
  // Throws ApiError as submit() does.
  std::shared_ptr<InferenceTask> post(
      std::function<void()> work, std::function<void()> wake = [] {});

  std::int64_t window() const { return engine_.config().max_seq_len; }

  // Refuses new sequences from now on. Running ones continue.
  void stop_admitting();

  struct Statistics {
    infer::Engine::Statistics engine;
    std::int64_t running = 0;  // sequences
    std::int64_t waiting = 0;
    std::int64_t steps = 0;
  };
  Statistics statistics() const;

 private:
  bool iterate();
  void admit_waiting();
  void apply_cancellations();
  void step();
  void fail_all(std::exception_ptr reason) noexcept;
  void end();
  void check_admission(std::int64_t more) const;

  infer::Engine engine_;  // of the thread alone
  InferenceOptions options_;
  std::map<std::int64_t, std::pair<std::shared_ptr<Ticket::State>, std::size_t>> running_;  // of the thread alone

  mutable std::mutex mutex_;
  std::condition_variable work_;
  std::list<std::shared_ptr<Ticket::State>> waiting_;  // that have sequences to admit
  std::int64_t waiting_count_ = 0;
  std::deque<std::weak_ptr<InferenceTask>> tasks_;
  Statistics statistics_;
  bool admits_ = true;
  bool ends_ = false;

  std::thread thread_;
};

}  // namespace crope::serve
