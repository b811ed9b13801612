// Where the files of a benchmark are: the names under which they are published, and those that `crope data synth`
// writes.
#pragma once

#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

namespace crope::eval {

enum class Split { evaluation, examples };  // the questions, and what few-shot examples are taken from

// The files of a split of "hellaswag", "mmlu" or "gsm8k" below `data`, in order; none when there are none.
// Looks in data/<benchmark>/ first, then in `data` itself.
std::vector<std::filesystem::path> find_benchmark_files(const std::filesystem::path& data, std::string_view benchmark,
                                                        Split split);

// The same. Throws Error listing the names that were looked for when there are none.
std::vector<std::filesystem::path> require_benchmark_files(const std::filesystem::path& data,
                                                           std::string_view benchmark, Split split);

}  // namespace crope::eval
