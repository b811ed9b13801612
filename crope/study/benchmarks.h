// The benchmarks that reports draw and claims judge: every task with right and wrong items (eval/task_table.h).
#pragma once

#include <string_view>
#include <vector>

#include "crope/report/run_data.h"

namespace crope::study {

// In the order of the task table.
const std::vector<report::Benchmark>& benchmarks();

// Throws UsageError if there is none.
const report::Benchmark& benchmark_by_task(std::string_view task);

}  // namespace crope::study
