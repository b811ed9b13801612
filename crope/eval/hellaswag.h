// HellaSwag: which of four endings follows.
#pragma once

#include <filesystem>
#include <string>
#include <string_view>

#include "crope/eval/task.h"

namespace crope::eval {

// What lm_eval makes of a text: stripped, " [title]" turned into ". ", everything else in square brackets removed, two
// spaces made one in a single pass. May end in a space. REQUIRES: valid UTF-8.
std::string clean_hellaswag(std::string_view text);

// Throws Error naming file, line and field of what is missing.
Task load_hellaswag(const std::filesystem::path& data, const TaskOptions& options);

}  // namespace crope::eval
