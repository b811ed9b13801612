// Names of tasks to tasks.
#pragma once

#include <filesystem>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "crope/base/log.h"
#include "crope/eval/task.h"

namespace crope::eval {

// "hellaswag,mmlu" to names, each once. Throws UsageError on a name that is no task, suggesting the nearest, and on an
// empty list.
std::vector<std::string> parse_task_names(std::string_view list);

// Reads all files that the tasks need. `texts` belong to the task perplexity; see find_texts.
// Throws Error naming file, line and field of what is missing.
TaskList load_tasks(std::span<const std::string> names, const std::filesystem::path& data,
                    std::span<const std::filesystem::path> texts, const TaskOptions& options, Log& log);

}  // namespace crope::eval
