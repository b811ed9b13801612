#include "crope/serve/worker_pool.h"

#include <chrono>
#include <system_error>
#include <thread>

namespace crope::serve {
namespace {

constexpr std::chrono::seconds kIdleTime{5};
constexpr std::size_t kMostIdle = 8;

}  // namespace

WorkerPool::~WorkerPool() {
  std::unique_lock lock(mutex_);
  ends_ = true;
  changed_.notify_all();
  ended_.wait(lock, [&] { return threads_ == 0; });
}

std::size_t WorkerPool::threads() const {
  const std::lock_guard lock(mutex_);
  return threads_;
}

void WorkerPool::run(std::function<void()> work) {
  const std::lock_guard lock(mutex_);
  work_.push_back(std::move(work));
  if (idle_ < work_.size() && threads_ < max_threads_) {
    try {
      std::thread([this] { loop(); }).detach();
      ++threads_;
      return;
    } catch (const std::system_error&) {
      if (threads_ == 0) {
        work_.pop_back();
        throw;
      }
      // Those that are there will come to it.
    }
  }
  changed_.notify_one();
}

void WorkerPool::loop() {
  std::unique_lock lock(mutex_);
  while (idle_ < kMostIdle || !work_.empty()) {
    ++idle_;
    changed_.wait_for(lock, kIdleTime, [&] { return ends_ || !work_.empty(); });
    --idle_;
    if (work_.empty()) break;
    const std::function<void()> work = std::move(work_.front());
    work_.pop_front();
    lock.unlock();
    work();
    lock.lock();
  }
  --threads_;
  // Under the lock: the pool may be gone as soon as it is released.
  ended_.notify_all();
}

}  // namespace crope::serve
