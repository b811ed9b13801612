// Work done in place by several threads that comes back in the order in which it was given.
#pragma once

#include <condition_variable>
#include <cstddef>
#include <deque>
#include <exception>
#include <functional>
#include <memory>
#include <mutex>
#include <thread>
#include <utility>
#include <vector>

namespace crope::data {

// push() and pop() are called by one thread. At most `depth` pieces of work are under way, which bounds the memory.
template <typename Work>
class OrderedWorkers {
 public:
  // `function` is called by several threads at once. REQUIRES: threads > 0, depth > 0.
  OrderedWorkers(std::function<void(Work&)> function, int threads, std::size_t depth)
      : function_(std::move(function)), depth_(depth) {
    for (int i = 0; i < threads; ++i) threads_.emplace_back([this] { run(); });
  }

  // Waits for work already begun and drops the rest.
  ~OrderedWorkers() {
    {
      const std::lock_guard lock(mutex_);
      stopping_ = true;
    }
    work_came_.notify_all();
    for (std::thread& thread : threads_) thread.join();
  }

  OrderedWorkers(const OrderedWorkers&) = delete;
  OrderedWorkers& operator=(const OrderedWorkers&) = delete;

  bool full() const { return in_order_.size() >= depth_; }
  bool empty() const { return in_order_.empty(); }

  // REQUIRES: not full().
  void push(Work work) {
    auto job = std::make_shared<Job>();
    job->work = std::move(work);
    in_order_.push_back(job);
    {
      const std::lock_guard lock(mutex_);
      waiting_.push_back(std::move(job));
    }
    work_came_.notify_one();
  }

  // The oldest work, done, or the exception that it threw. REQUIRES: not empty().
  Work pop() {
    const std::shared_ptr<Job> job = std::move(in_order_.front());
    in_order_.pop_front();
    std::unique_lock lock(mutex_);
    work_done_.wait(lock, [&] { return job->done; });
    if (job->error) std::rethrow_exception(job->error);
    return std::move(job->work);
  }

 private:
  struct Job {
    Work work;
    std::exception_ptr error;
    bool done = false;
  };

  void run() {
    std::unique_lock lock(mutex_);
    while (true) {
      work_came_.wait(lock, [&] { return stopping_ || !waiting_.empty(); });
      if (stopping_) return;
      const std::shared_ptr<Job> job = std::move(waiting_.front());
      waiting_.pop_front();
      lock.unlock();
      try {
        function_(job->work);
      } catch (...) {
        job->error = std::current_exception();
      }
      lock.lock();
      job->done = true;
      work_done_.notify_one();
    }
  }

  std::function<void(Work&)> function_;
  std::size_t depth_;
  std::deque<std::shared_ptr<Job>> in_order_;  // of the calling thread alone
  std::mutex mutex_;
  std::condition_variable work_came_, work_done_;
  std::deque<std::shared_ptr<Job>> waiting_;
  bool stopping_ = false;
  std::vector<std::thread> threads_;
};

}  // namespace crope::data
