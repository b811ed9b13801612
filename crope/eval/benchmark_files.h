// Where the files of a task are: under the names of their publishers, of Hugging Face, or of `crope data synth`.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "crope/eval/task_table.h"

namespace crope::eval {

enum class Split { questions, examples };  // examples: the documents that few-shot examples are drawn from

// The names that are looked for, in this order: the row's own; <task>_<split>.jsonl; <split>.jsonl; and Parquet files
// as on Hugging Face. "val", "valid" and "dev" stand for the split "validation" too. A "*" stands for any text in a
// name.
std::vector<std::string> benchmark_file_names(const TaskRow& row, Split split);

// The files under the first of these names that exists in data/<task>/, or else in `data`, in order. Throws Error
// listing the names if there are none.
std::vector<std::filesystem::path> find_benchmark_files(const std::filesystem::path& data, const TaskRow& row,
                                                        Split split);

}  // namespace crope::eval
