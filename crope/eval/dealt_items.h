// The items of tasks, shared out among the ranks of a group.
#pragma once

#include <span>
#include <vector>

#include "crope/dist/process_group.h"
#include "crope/eval/metrics.h"
#include "crope/eval/task.h"

namespace crope::eval {

// The tasks with this rank's items alone: every size-th of each, so that every rank has some of each kind.
std::vector<Task> own_items(std::span<const Task> tasks, const dist::ProcessGroup& group);

// The responses to all items of `tasks`, in order, from those of each rank to its own. Every rank has them all then.
std::vector<std::vector<Response>> gather_responses(std::span<const Task> tasks,
                                                    const std::vector<std::vector<Response>>& own,
                                                    dist::ProcessGroup& group);

}  // namespace crope::eval
