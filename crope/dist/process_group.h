// The ranks of a run and what they do together, on c10d. Every rank calls the same operations in the same order.
//
// A world of one has the same operations: they open nothing, send nothing and return at once.
#pragma once

#include <c10/util/intrusive_ptr.h>
#include <torch/types.h>

#include <chrono>
#include <memory>
#include <string>
#include <vector>

#include "crope/dist/launch.h"

namespace c10d {
class Backend;
class Work;
}  // namespace c10d

namespace crope::dist {

struct GroupOptions {
  // After this long without an answer a rank is given up, and with it the group.
  std::chrono::milliseconds timeout = std::chrono::minutes(5);
  torch::Device device = torch::kCPU;  // where the tensors are
};

// An operation under way; its tensors are not to be touched before wait() has returned.
class Pending {
 public:
  Pending();  // nothing to wait for
  Pending(c10::intrusive_ptr<c10d::Work> work, std::string what);
  Pending(Pending&&) noexcept;
  Pending& operator=(Pending&&) noexcept;
  ~Pending();

  // Throws Error, saying which operation of which rank, if another rank has gone or did not answer in time.
  void wait();

 private:
  c10::intrusive_ptr<c10d::Work> work_;
  std::string what_;
};

class ProcessGroup {
 public:
  // A world of one.
  ProcessGroup();

  // Connects to the others, and lets a sum of known numbers prove it. Throws Error if either fails.
  ProcessGroup(const Launch& launch, const GroupOptions& options);

  ProcessGroup(const ProcessGroup&) = delete;
  ProcessGroup& operator=(const ProcessGroup&) = delete;
  ~ProcessGroup();

  int rank() const { return launch_.rank; }
  int size() const { return launch_.size; }
  bool is_first() const { return launch_.rank == 0; }
  const Launch& launch() const { return launch_; }
  torch::Device device() const { return options_.device; }  // where tensors must be

  // Puts the sum over ranks in place of `tensor`, the same bits on every rank. REQUIRES: contiguous.
  Pending all_reduce(torch::Tensor tensor);

  // Puts the values of rank `root` in place of everybody's. REQUIRES: contiguous.
  Pending broadcast(torch::Tensor tensor, int root);

  // The sum over ranks.
  double sum(double value);

  // The text of every rank, by rank. For messages and results, not for tensors.
  std::vector<std::string> gather(const std::string& text);

 private:
  void self_test();
  std::string describe(const char* operation) const;

  Launch launch_;
  GroupOptions options_;
  c10::intrusive_ptr<c10d::Backend> backend_;  // null in a world of one
};

std::shared_ptr<ProcessGroup> world_of_one();

}  // namespace crope::dist
