#include "crope/eval/stored_results.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "crope/base/error.h"
#include "crope/eval/benchmark_rows.h"
#include "crope/eval/results.h"
#include "crope/eval/task_table.h"
#include "crope/run/run_dir.h"

namespace crope::eval {
namespace fs = std::filesystem;
namespace {

// A value of nested objects; null where one is missing.
Json value_at(const Json& json, std::initializer_list<const char*> path) {
  const Json* value = &json;
  for (const char* key : path) {
    const auto found = value->find(key);
    if (found == value->end()) return nullptr;
    value = &*found;
  }
  return *value;
}

bool has_identity(const Json& document, const ResultsIdentity& identity) {
  const Json fingerprint = value_at(document, {"model_fingerprint"});
  const bool same_model = fingerprint.is_null() ? value_at(document, {"model_name"}) == identity.model
                                                : fingerprint == identity.fingerprint;
  const Json add_bos = value_at(document, {"config", "add_bos_token"});
  return same_model && (add_bos.is_boolean() ? add_bos == identity.add_bos : !identity.add_bos);
}

std::int64_t count_at(const Json& document, const std::string& task, const char* key) {
  const Json count = value_at(document, {"n-samples", task.c_str(), key});
  return count.is_number_integer() ? count.get<std::int64_t>() : 0;
}

}  // namespace

StoredResults::StoredResults(const fs::path& folder, const ResultsIdentity& identity, Log& log) : folder_(folder) {
  const fs::path results = folder / run::kResultsFile, items = folder / run::kItemsFile;
  if (!fs::exists(results)) return;
  try {
    document_ = read_json(results);
    if (!value_at(document_, {"results"}).is_object()) {
      throw Error(fmt::format("{}: expected an object 'results'", results.string()));
    }
    if (fs::exists(items) && fs::file_size(items) > 0) {
      for (const BenchmarkRow& row : read_benchmark_rows({items})) items_[string_field(row, "task")] = row.fields;
    }
  } catch (const Error& error) {
    throw Error(error.what(), fmt::format("new results are added to those in {}: choose another folder, or remove them",
                                          folder.string()));
  }
  if (has_identity(document_, identity)) return;
  std::vector<std::string> dropped;
  for (const auto& [task, entry] : document_["results"].items()) dropped.push_back(task);
  log.warn(fmt::format("{}: results of other weights or another add_bos are replaced: {}", results.string(),
                       fmt::join(dropped, ", ")));
  document_ = nullptr;
  items_.clear();
}

std::set<std::string> StoredResults::kept_tasks(const TaskList& list, bool overwrite, Log& log) const {
  std::set<std::string> kept;
  for (const Task& task : list.tasks) {
    const auto items = static_cast<std::int64_t>(task.items.size());
    const std::int64_t stored = count_at(document_, task.name, "effective");
    if (!overwrite && items < task.document_count && items < stored) kept.insert(task.name);
  }
  if (!kept.empty()) {
    log.warn(fmt::format(
        "{} keeps its results on more items: {}. The new ones are printed but not stored; overwrite stores them",
        (folder_ / run::kResultsFile).string(), fmt::join(kept, ", ")));
  }
  return kept;
}

Json StoredResults::merged(Json document, const std::set<std::string>& kept) const {
  if (document_.is_null()) return document;
  for (const char* object : kTaskObjects) {
    Json entries = document_.contains(object) ? document_[object] : Json::object();
    for (const auto& [name, entry] : document[object].items()) {
      if (!kept.contains(name)) entries[name] = entry;
    }
    document[object] = std::move(entries);
  }
  update_groups(document);
  return document;
}

std::string StoredResults::merged_items(const std::vector<Json>& rows, const std::set<std::string>& kept) const {
  std::map<std::string, Json> all = items_;
  for (const Json& row : rows) {
    if (!kept.contains(row["task"])) all[row["task"]] = row;
  }
  std::string lines;
  for (const auto& [task, row] : all) lines += row.dump() + "\n";
  return lines;
}

bool has_results(const Json& document, const std::vector<std::string>& names, std::int64_t limit) {
  return std::ranges::all_of(names, [&](const std::string& name) {
    if (headlines(document, name).empty()) return false;
    const Json counts = value_at(document, {"n-samples"});
    for (const auto& [task, count] : counts.items()) {
      const TaskRow* row = find_task(task);
      if (row == nullptr || row != find_task(name)) continue;
      const std::int64_t all = count_at(document, task, "original");
      if (count_at(document, task, "effective") < (limit > 0 ? std::min(limit, all) : all)) return false;
    }
    return true;
  });
}

}  // namespace crope::eval
