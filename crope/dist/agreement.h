// Agreement of all ranks: whether something worked, whether to stop, whether they hold the same numbers.
#pragma once

#include <torch/types.h>

#include <functional>
#include <span>
#include <string>

#include "crope/dist/process_group.h"

namespace crope::dist {

// Does `work` on this rank and waits for the others. Where it fails it throws what it threw; everywhere else it then
// throws Error with the number of the rank that failed and its message, or Interrupted where a signal stopped that
// rank.
void run_on_all_ranks(ProcessGroup& group, const std::function<void()>& work);

// Whether `work` did not throw Error on any rank. Otherwise `message` is that of the first rank that did. Throws
// Interrupted on every rank if a signal stopped the work of one: it has not failed.
bool all_succeed(ProcessGroup& group, const std::function<void()>& work, std::string& message);

// Throws Error naming the ranks that hold other tensors than rank 0. `what` stands in the message.
void check_same(ProcessGroup& group, std::span<const torch::Tensor> tensors, const std::string& what);

// A question that is asked again and again, answered alike on every rank. With several ranks the answer is to the
// asking before, so that nobody waits for it.
class Vote {
 public:
  explicit Vote(ProcessGroup& group) : group_(group) {}

  // Whether any rank has said yes.
  bool ask(bool mine);

 private:
  ProcessGroup& group_;
  torch::Tensor votes_;  // of the last asking, while it is being summed
  Pending pending_;
};

}  // namespace crope::dist
