#include "crope/eval/task_list.h"

#include <fmt/format.h>

#include <algorithm>

#include "crope/base/error.h"
#include "crope/eval/document_task.h"

namespace crope::eval {

std::vector<std::string> parse_task_names(std::string_view list) {
  std::vector<std::string> names;
  while (!list.empty()) {
    const std::size_t comma = std::min(list.find(','), list.size());
    const std::string name(list.substr(0, comma));
    list.remove_prefix(std::min(comma + 1, list.size()));
    if (name.empty()) continue;
    require_task(name);
    if (std::ranges::find(names, name) == names.end()) names.push_back(name);
  }
  if (names.empty()) throw UsageError("the list of tasks is empty", "tasks: " + task_names());
  return names;
}

TaskList load_tasks(std::span<const std::string> names, const std::filesystem::path& data,
                    std::span<const std::filesystem::path> texts, const TaskOptions& options, Log& log) {
  TaskList list{.names = {names.begin(), names.end()}};
  // Names of one row are loaded together, at the place of the first.
  std::vector<LoadRequest> requests;
  for (const std::string& name : names) {
    const TaskRow& row = require_task(name);
    const auto found = std::ranges::find_if(requests, [&](const LoadRequest& each) { return &each.row == &row; });
    if (found == requests.end()) {
      requests.push_back({row, {name}, data, texts, options, log});
    } else {
      found->names.push_back(name);
    }
  }
  for (const LoadRequest& request : requests) {
    (request.row.load == nullptr ? load_documents : request.row.load)(request, list);
  }
  return list;
}

}  // namespace crope::eval
