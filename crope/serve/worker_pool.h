// Threads for work that waits: as many as there is work, up to a limit. A few of those without work are kept for a
// while.
#pragma once

#include <condition_variable>
#include <cstddef>
#include <deque>
#include <functional>
#include <mutex>

namespace crope::serve {

class WorkerPool {
 public:
  explicit WorkerPool(std::size_t max_threads) : max_threads_(max_threads) {}

  // Waits until all work is done.
  ~WorkerPool();

  WorkerPool(const WorkerPool&) = delete;
  WorkerPool& operator=(const WorkerPool&) = delete;

  // Work beyond the limit waits for a thread. `work` must not throw.
  void run(std::function<void()> work);

  std::size_t threads() const;

 private:
  void loop();

  const std::size_t max_threads_;
  mutable std::mutex mutex_;
  std::condition_variable changed_;
  std::condition_variable ended_;
  std::deque<std::function<void()>> work_;
  std::size_t threads_ = 0;
  std::size_t idle_ = 0;
  bool ends_ = false;
};

}  // namespace crope::serve
