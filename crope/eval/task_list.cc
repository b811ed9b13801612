#include "crope/eval/task_list.h"

#include <fmt/format.h>

#include <algorithm>

#include "crope/base/error.h"
#include "crope/base/nearest_name.h"
#include "crope/eval/gsm8k.h"
#include "crope/eval/hellaswag.h"
#include "crope/eval/mmlu.h"
#include "crope/eval/perplexity.h"

namespace crope::eval {
namespace {

// The group of those of `subjects` that were loaded; nothing is added when none was.
void add_group(TaskList& list, const MmluGroup& from) {
  TaskGroup group{.name = fmt::format("mmlu_{}", from.name), .alias = from.name};
  for (const char* subject : from.subjects) {
    const std::string name = fmt::format("mmlu_{}", subject);
    const auto found =
        std::find_if(list.tasks.begin(), list.tasks.end(), [&](const Task& task) { return task.name == name; });
    if (found == list.tasks.end()) continue;
    group.children.push_back(name);
    group.tasks.push_back(static_cast<std::size_t>(found - list.tasks.begin()));
  }
  if (!group.tasks.empty()) list.groups.push_back(std::move(group));
}

void add_mmlu_groups(TaskList& list) {
  const auto asked = [&](const std::string& name) {
    return std::find(list.names.begin(), list.names.end(), name) != list.names.end();
  };
  const bool whole = asked("mmlu");
  TaskGroup all{.name = "mmlu", .alias = "mmlu"};
  for (const MmluGroup& group : mmlu_groups()) {
    if (!whole && !asked(fmt::format("mmlu_{}", group.name))) continue;
    const std::size_t before = list.groups.size();
    add_group(list, group);
    if (list.groups.size() == before) continue;
    all.children.push_back(list.groups.back().name);
    all.tasks.insert(all.tasks.end(), list.groups.back().tasks.begin(), list.groups.back().tasks.end());
  }
  if (whole) list.groups.push_back(std::move(all));
}

}  // namespace

std::vector<std::string> parse_task_names(std::string_view list) {
  std::vector<std::string> known = {"hellaswag", "mmlu", "gsm8k", "perplexity"};
  const std::vector<std::string> short_list = known;
  for (const std::string& name : mmlu_task_names()) known.push_back(name);
  std::vector<std::string> names;
  while (!list.empty()) {
    const std::size_t comma = std::min(list.find(','), list.size());
    const std::string name(list.substr(0, comma));
    list.remove_prefix(std::min(comma + 1, list.size()));
    if (name.empty()) continue;
    if (std::find(known.begin(), known.end(), name) == known.end()) {
      const std::string nearest = nearest_name(name, known);
      throw UsageError(fmt::format("--tasks: there is no task '{}'", name),
                       nearest.empty() ? suggest(name, short_list) : fmt::format("did you mean '{}'?", nearest));
    }
    if (std::find(names.begin(), names.end(), name) == names.end()) names.push_back(name);
  }
  if (names.empty()) throw UsageError("--tasks: no task is named", "for instance --tasks hellaswag,mmlu,gsm8k");
  return names;
}

TaskList load_tasks(std::span<const std::string> names, const std::filesystem::path& data,
                    std::span<const std::filesystem::path> texts, const TaskOptions& options, Log& log) {
  TaskList list{.names = {names.begin(), names.end()}};
  std::vector<std::string> subjects;  // of all names that stand for some, loaded at the place of the first
  for (const std::string& name : names) {
    for (const std::string& subject : mmlu_subjects(name)) {
      if (std::find(subjects.begin(), subjects.end(), subject) == subjects.end()) subjects.push_back(subject);
    }
  }
  bool mmlu_loaded = false;
  for (const std::string& name : names) {
    if (name == "hellaswag") {
      list.tasks.push_back(load_hellaswag(data, options));
    } else if (name == "gsm8k") {
      list.tasks.push_back(load_gsm8k(data, options));
    } else if (name == "perplexity") {
      list.tasks.push_back(load_perplexity(find_texts(data, texts), options));
    } else if (!mmlu_loaded) {
      mmlu_loaded = true;
      std::vector<Task> tasks = load_mmlu(data, subjects, options);
      if (tasks.size() < subjects.size()) {
        log.warn(fmt::format("mmlu: the files have {} of the {} subjects asked for", tasks.size(), subjects.size()));
      }
      std::move(tasks.begin(), tasks.end(), std::back_inserter(list.tasks));
    }
  }
  add_mmlu_groups(list);
  return list;
}

}  // namespace crope::eval
