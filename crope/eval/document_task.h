// Tasks made of documents: rows of benchmark files become items, with few-shot examples before each question.
#pragma once

#include <string>
#include <vector>

#include "crope/eval/task_table.h"

namespace crope::eval {

// Replaces each {{field}} by that string of the row. Throws Error naming file, line and field if it is missing.
std::string fill_template(std::string_view text, const BenchmarkRow& row);

// A task's documents, and those that examples are drawn from (none for zero-shot).
struct Documents {
  std::vector<BenchmarkRow> questions;
  std::vector<BenchmarkRow> examples;
  std::string examples_file;  // for messages
};

// Reads the files of a task. Throws Error listing the names that were looked for if there are none.
Documents read_documents(const LoadRequest& request);

// `description` starts every prompt, before the examples. Throws Error naming file, line and field of what is
// missing, and if there are too few examples.
Task make_document_task(const TaskRow& row, const std::string& name, const std::string& description,
                        Documents documents, const TaskOptions& options);

// One task of all documents.
void load_documents(const LoadRequest& request, TaskList& list);

}  // namespace crope::eval
