// GSM8K: school mathematics in words, answered by a generated text.
#pragma once

#include <filesystem>

#include "crope/eval/task.h"

namespace crope::eval {

// Throws Error naming file, line and field of what is missing.
Task load_gsm8k(const std::filesystem::path& data, const TaskOptions& options);

}  // namespace crope::eval
