// Tasks by name, from files that a test wrote.
#pragma once

#include <filesystem>
#include <span>
#include <string>
#include <vector>

#include "crope/eval/task_list.h"

namespace crope::eval {

inline std::vector<Task> load_family(const std::string& name, const std::filesystem::path& data,
                                     const TaskOptions& options = {}) {
  Log log(nullptr);
  return load_tasks(std::span(&name, 1), data, {}, options, log).tasks;
}

// REQUIRES: the name of one task.
inline Task load_task(const std::string& name, const std::filesystem::path& data, const TaskOptions& options = {}) {
  return load_family(name, data, options).at(0);
}

}  // namespace crope::eval
