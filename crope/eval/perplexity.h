// Perplexity of plain texts, in rolling windows.
#pragma once

#include <filesystem>
#include <span>
#include <vector>

#include "crope/eval/task_table.h"

namespace crope::eval {

// The texts to measure: `given`, or, when there are none, `data` itself where it is a file, or the files of
// data/perplexity/ that end in .txt or .jsonl. Throws Error if there are none.
std::vector<std::filesystem::path> find_texts(const std::filesystem::path& data,
                                              std::span<const std::filesystem::path> given);

// One item for each text: a file, or the field 'text' of each JSON line.
// Throws Error naming the file if it is empty, or the place in it if it is not UTF-8.
void load_perplexity(const LoadRequest& request, TaskList& list);

}  // namespace crope::eval
