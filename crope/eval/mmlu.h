// MMLU: 57 subjects of four choices each, in four groups.
#pragma once

#include <filesystem>
#include <span>
#include <string>
#include <vector>

#include "crope/eval/task.h"

namespace crope::eval {

struct MmluGroup {
  const char* name;  // "stem"; in results "mmlu_stem"
  std::span<const char* const> subjects;
};

// In lm_eval's order.
std::span<const MmluGroup> mmlu_groups();

// Names of all tasks and groups: "mmlu", "mmlu_stem", "mmlu_anatomy".
std::vector<std::string> mmlu_task_names();

// The subjects that a name of mmlu_task_names() stands for, in the order of groups. Empty for any other name.
std::vector<std::string> mmlu_subjects(std::string_view task_name);

// One task for each of `subjects` that the files have, in that order.
// Throws Error naming file, line and field of what is missing or no subject of MMLU, and if the files have none of
// them.
std::vector<Task> load_mmlu(const std::filesystem::path& data, const std::vector<std::string>& subjects,
                            const TaskOptions& options);

}  // namespace crope::eval
