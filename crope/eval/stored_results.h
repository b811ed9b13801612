// The results that a folder already holds: evaluations of the same weights add to them, task by task.
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "crope/base/json.h"
#include "crope/base/log.h"
#include "crope/eval/task.h"

namespace crope::eval {

// Results of one file agree in these.
struct ResultsIdentity {
  std::string model;        // the directory, for files that have no fingerprint
  std::string fingerprint;  // of the weights
  bool add_bos = false;
};

class StoredResults {
 public:
  // Reads results.json and items.jsonl of `folder`, as far as they exist. Results of other weights, or with another
  // add_bos, are dropped with a warning. Throws Error if a file cannot be read.
  StoredResults(const std::filesystem::path& folder, const ResultsIdentity& identity, Log& log);

  // The tasks with fewer items now than in the stored result. Unless `overwrite`, they keep the stored
  // result, with a warning.
  std::set<std::string> kept_tasks(const TaskList& list, bool overwrite, Log& log) const;

  // The stored results with `document` added, without its `kept` tasks. Groups are computed anew.
  Json merged(Json document, const std::set<std::string>& kept) const;

  // The lines of items.jsonl that go with it, by task; `rows` are the new ones.
  std::string merged_items(const std::vector<Json>& rows, const std::set<std::string>& kept) const;

 private:
  std::filesystem::path folder_;
  Json document_ = nullptr;            // null without one
  std::map<std::string, Json> items_;  // rows of items.jsonl, by task
};

// Whether results.json has all of these tasks or groups, each with `limit` items a task, or all (0), or more.
bool has_results(const Json& document, const std::vector<std::string>& names, std::int64_t limit);

}  // namespace crope::eval
