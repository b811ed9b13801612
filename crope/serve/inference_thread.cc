#include "crope/serve/inference_thread.h"

#include <fmt/format.h>

#include <algorithm>
#include <atomic>

#include "crope/serve/api_error.h"

namespace crope::serve {

using infer::FinishReason;
using infer::SequenceRequest;
using infer::TokenEvent;

struct Ticket::State {
  std::mutex mutex;
  std::condition_variable changed;
  std::vector<Event> events;
  std::exception_ptr error;
  std::size_t open = 0;  // sequences that have not ended
  const std::function<void()> wake;

  // Set by whoever waits, read by the inference thread.
  std::vector<std::atomic<bool>> cancelled;

  // Of the inference thread, under its mutex.
  std::vector<SequenceRequest> requests;
  std::size_t next = 0;  // of the requests, to be admitted

  State(std::vector<SequenceRequest> all, std::function<void()> on_change)
      : open(all.size()), wake(std::move(on_change)), cancelled(all.size()), requests(std::move(all)) {}

  // Changes something that whoever waits will want to know.
  template <typename Change>
  void change(Change&& apply) {
    {
      const std::lock_guard lock(mutex);
      apply();
      changed.notify_one();
    }
    wake();
  }

  void end_one() {
    change([&] { --open; });
  }

  void fail(std::exception_ptr reason) {
    change([&] {
      error = reason;
      open = 0;
    });
  }
};

Ticket::Ticket(std::shared_ptr<State> state) : state_(std::move(state)) {}

Ticket::~Ticket() {
  for (auto& flag : state_->cancelled) flag = true;
}

void Ticket::cancel(std::size_t index) {
  state_->cancelled[index] = true;
}

std::vector<Ticket::Event> Ticket::wait(std::chrono::steady_clock::time_point until) {
  std::unique_lock lock(state_->mutex);
  state_->changed.wait_until(lock, until,
                             [&] { return !state_->events.empty() || state_->open == 0 || state_->error; });
  if (state_->error) std::rethrow_exception(state_->error);
  return std::exchange(state_->events, {});
}

bool InferenceTask::done() {
  if (future_.wait_for(std::chrono::seconds(0)) != std::future_status::ready) return false;
  future_.get();
  return true;
}

InferenceThread::InferenceThread(const model::Transformer& model, const InferenceOptions& options)
    : engine_(model, options.engine), options_(options) {
  if (options.max_sequences < 1 || options.max_waiting < 1) {
    throw UsageError("sequences at once and sequences that wait: expected numbers from 1");
  }
  thread_ = std::thread([this] {
    for (;;) {
      try {
        if (!iterate()) break;
      } catch (...) {
        fail_all(std::current_exception());
      }
    }
    end();
  });
}

InferenceThread::~InferenceThread() {
  {
    const std::lock_guard lock(mutex_);
    admits_ = false;
    ends_ = true;
  }
  work_.notify_one();
  thread_.join();
}

void InferenceThread::check_admission(std::int64_t more) const {
  if (!admits_) throw ApiError(503, "the server is shutting down");
  if (waiting_count_ + more > options_.max_waiting) {
    throw ApiError(
        429, fmt::format("too many requests: {} sequences are waiting, {} may", waiting_count_, options_.max_waiting),
        "", "queue_full");
  }
}

std::unique_ptr<Ticket> InferenceThread::submit(std::vector<SequenceRequest> requests, std::function<void()> wake) {
  const auto count = static_cast<std::int64_t>(requests.size());
  auto state = std::make_shared<Ticket::State>(std::move(requests), std::move(wake));
  {
    const std::lock_guard lock(mutex_);
    check_admission(count);
    waiting_.push_back(state);
    waiting_count_ += count;
  }
  work_.notify_one();
  return std::unique_ptr<Ticket>(new Ticket(std::move(state)));
}

std::shared_ptr<InferenceTask> InferenceThread::post(std::function<void()> work, std::function<void()> wake) {
  auto task = std::make_shared<InferenceTask>();
  task->work_ = std::move(work);
  task->wake_ = std::move(wake);
  {
    const std::lock_guard lock(mutex_);
    std::erase_if(tasks_, [](const auto& each) { return each.expired(); });
    check_admission(static_cast<std::int64_t>(tasks_.size()) + 1);
    tasks_.push_back(task);
  }
  work_.notify_one();
  return task;
}

void InferenceThread::stop_admitting() {
  const std::lock_guard lock(mutex_);
  admits_ = false;
}

InferenceThread::Statistics InferenceThread::statistics() const {
  const std::lock_guard lock(mutex_);
  Statistics statistics = statistics_;
  statistics.waiting = waiting_count_;
  return statistics;
}

// Called with the mutex held. One sequence of each request in turn.
void InferenceThread::admit_waiting() {
  while (!waiting_.empty() && static_cast<std::int64_t>(running_.size()) < options_.max_sequences) {
    std::shared_ptr<Ticket::State> state = std::move(waiting_.front());
    waiting_.pop_front();
    const std::size_t index = state->next++;
    --waiting_count_;
    try {
      running_.emplace(engine_.admit(std::move(state->requests[index])), std::pair(state, index));
    } catch (...) {
      state->fail(std::current_exception());
      for (auto& flag : state->cancelled) flag = true;
    }
    if (state->next < state->requests.size()) waiting_.push_back(std::move(state));
  }
}

// Called with the mutex held.
void InferenceThread::apply_cancellations() {
  for (auto place = waiting_.begin(); place != waiting_.end();) {
    const std::shared_ptr<Ticket::State>& state = *place;
    while (state->next < state->requests.size() && state->cancelled[state->next]) {
      ++state->next;
      --waiting_count_;
      state->end_one();
    }
    place = state->next < state->requests.size() ? std::next(place) : waiting_.erase(place);
  }
  for (auto place = running_.begin(); place != running_.end();) {
    const auto& [state, index] = place->second;
    if (!state->cancelled[index]) {
      ++place;
      continue;
    }
    engine_.remove(place->first);
    state->end_one();
    place = running_.erase(place);
  }
}

void InferenceThread::step() {
  engine_.step([&](const TokenEvent& event) {
    const auto place = running_.find(event.sequence);
    const auto& [state, index] = place->second;
    state->change([&, &state = state, index = index] {
      state->events.push_back({index, event});
      if (event.finish != FinishReason::none) --state->open;
    });
    if (event.finish != FinishReason::none) running_.erase(place);
  });
}

void InferenceThread::fail_all(std::exception_ptr reason) noexcept {
  for (const auto& [number, place] : running_) {
    engine_.remove(number);
    place.first->fail(reason);
    for (auto& flag : place.first->cancelled) flag = true;
  }
  running_.clear();
}

// Waits for work and does some of it; false at the end.
bool InferenceThread::iterate() {
  std::shared_ptr<InferenceTask> task;
  {
    std::unique_lock lock(mutex_);
    statistics_.running = static_cast<std::int64_t>(running_.size());
    work_.wait(lock, [&] { return ends_ || !waiting_.empty() || !tasks_.empty() || !running_.empty(); });
    if (ends_) return false;
    apply_cancellations();
    admit_waiting();
    // One at a time: the streams go on between two of them.
    while (!task && !tasks_.empty()) {
      task = tasks_.front().lock();
      tasks_.pop_front();
    }
    statistics_.running = static_cast<std::int64_t>(running_.size());
  }
  if (task) {
    try {
      task->work_();
      task->promise_.set_value();
    } catch (...) {
      task->promise_.set_exception(std::current_exception());
    }
    task->wake_();
  }
  if (running_.empty()) return true;
  step();
  const std::lock_guard lock(mutex_);
  statistics_.engine = engine_.statistics();
  ++statistics_.steps;
  return true;
}

// Tells whoever still waits.
void InferenceThread::end() {
  const std::exception_ptr reason = std::make_exception_ptr(ApiError(503, "the server is shutting down"));
  fail_all(reason);
  const std::lock_guard lock(mutex_);
  for (const auto& state : waiting_) state->fail(reason);
  for (const auto& each : tasks_) {
    if (const auto task = each.lock()) {
      task->promise_.set_exception(reason);
      task->wake_();
    }
  }
}

}  // namespace crope::serve
