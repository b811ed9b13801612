// HellaSwag: which of four endings follows.
#pragma once

#include <string>
#include <string_view>

#include "crope/eval/task_table.h"

namespace crope::eval {

// Cleans a text as lm_eval does: strips it, turns " [title]" into ". ", removes everything else in square brackets, and
// makes two spaces one in a single pass. The result may end in a space. REQUIRES: valid UTF-8.
std::string clean_hellaswag(std::string_view text);

// A document of HellaSwag. Adds lm_eval's fields query, choices and gold to it. Throws Error naming file, line and
// field of what is missing.
Item read_hellaswag(BenchmarkRow& document, const TaskRow& row);

}  // namespace crope::eval
