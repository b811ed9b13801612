// MMLU: 57 subjects of four choices each, in four groups.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "crope/eval/task_table.h"

namespace crope::eval {

// Names of all groups and subjects: "mmlu_stem", "mmlu_anatomy".
std::vector<std::string> mmlu_family();

// The subjects of "mmlu", of a group or of a subject's name, in lm_eval's order. Empty for any other name.
std::vector<std::string> mmlu_subjects(std::string_view task_name);

// A document of any subject. Throws Error naming file, line and field of what is missing.
Item read_mmlu(BenchmarkRow& document, const TaskRow& row);

// One task for each subject that the names stand for and the files have, and the groups that the names ask for. Warns
// where the files have a part of the subjects.
// Throws Error naming file, line and field of what is missing or no subject of MMLU, and if the files have none.
void load_mmlu(const LoadRequest& request, TaskList& list);

}  // namespace crope::eval
