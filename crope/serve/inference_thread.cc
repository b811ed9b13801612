#include "crope/serve/inference_thread.h"

#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <future>

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

  // Set by whoever waits, read by the inference thread.
  std::vector<std::atomic<bool>> cancelled;

  // Of the inference thread, under its mutex.
  std::vector<SequenceRequest> requests;
  std::size_t next = 0;  // of the requests, to be admitted

  explicit State(std::vector<SequenceRequest> all)
      : open(all.size()), cancelled(all.size()), requests(std::move(all)) {}

  void end_one() {
    const std::lock_guard lock(mutex);
    --open;
    changed.notify_one();
  }

  void fail(std::exception_ptr reason) {
    const std::lock_guard lock(mutex);
    error = reason;
    open = 0;
    changed.notify_one();
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

struct InferenceThread::Task {
  std::packaged_task<void()> work;
};

InferenceThread::InferenceThread(const model::Transformer& model, const InferenceOptions& options)
    : engine_(model, options.engine), options_(options) {
  if (options.max_sequences < 1 || options.max_waiting < 1) {
    throw UsageError("sequences at once and sequences that wait: expected numbers from 1");
  }
  thread_ = std::thread([this] { loop(); });
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

std::unique_ptr<Ticket> InferenceThread::submit(std::vector<SequenceRequest> requests) {
  const auto count = static_cast<std::int64_t>(requests.size());
  auto state = std::make_shared<Ticket::State>(std::move(requests));
  {
    const std::lock_guard lock(mutex_);
    check_admission(count);
    waiting_.push_back(state);
    waiting_count_ += count;
  }
  work_.notify_one();
  return std::unique_ptr<Ticket>(new Ticket(std::move(state)));
}

void InferenceThread::run(const std::function<void()>& work) {
  auto task = std::make_shared<Task>(Task{std::packaged_task<void()>(work)});
  std::future<void> done = task->work.get_future();
  {
    const std::lock_guard lock(mutex_);
    check_admission(static_cast<std::int64_t>(tasks_.size()) + 1);
    tasks_.push_back(task);
  }
  work_.notify_one();
  done.get();
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
    {
      const std::lock_guard lock(state->mutex);
      state->events.push_back({index, event});
      if (event.finish != FinishReason::none) --state->open;
      state->changed.notify_one();
    }
    if (event.finish != FinishReason::none) running_.erase(place);
  });
}

void InferenceThread::fail_all(std::exception_ptr reason) {
  for (const auto& [number, place] : running_) {
    engine_.remove(number);
    place.first->fail(reason);
    for (auto& flag : place.first->cancelled) flag = true;
  }
  running_.clear();
}

void InferenceThread::loop() {
  for (;;) {
    std::deque<std::shared_ptr<Task>> tasks;
    {
      std::unique_lock lock(mutex_);
      statistics_.running = static_cast<std::int64_t>(running_.size());
      work_.wait(lock, [&] { return ends_ || !waiting_.empty() || !tasks_.empty() || !running_.empty(); });
      if (ends_) break;
      apply_cancellations();
      admit_waiting();
      tasks.swap(tasks_);
      statistics_.running = static_cast<std::int64_t>(running_.size());
    }
    for (const auto& task : tasks) task->work();
    if (running_.empty()) continue;
    try {
      step();
    } catch (...) {
      fail_all(std::current_exception());
    }
    const std::lock_guard lock(mutex_);
    statistics_.engine = engine_.statistics();
    ++statistics_.steps;
  }
  // Whoever still waits is told so.
  const std::exception_ptr reason = std::make_exception_ptr(ApiError(503, "the server is shutting down"));
  fail_all(reason);
  const std::lock_guard lock(mutex_);
  for (const auto& state : waiting_) state->fail(reason);
  for (const auto& task : tasks_) task->work();
}

}  // namespace crope::serve
