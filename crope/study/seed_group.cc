#include "crope/study/seed_group.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "crope/study/run_identity.h"

namespace crope::study {
namespace {

using report::RunData;

std::string shared_settings(const RunData& run) {
  Json record = run.run.is_object() ? run.run : Json::object();
  record["model"] = run.model;
  return Json(run_identity(record).fields).dump();
}

double last_step(const RunData& run) {
  return run.train_loss.empty() ? 0 : run.train_loss.back().first;
}

void drop_unfinished(SeedGroup& group, std::vector<RunData>& runs) {
  double last = 0;
  for (const RunData* run : group.runs) last = std::max(last, last_step(*run));
  for (RunData& run : runs) {
    const auto place = std::ranges::find(group.runs, &run);
    if (place == group.runs.end() || last_step(run) == last) continue;
    group.runs.erase(place);
    run.notes.push_back(fmt::format("stops at step {:.0f} of {:.0f} and is in no mean", last_step(run), last));
  }
}

// Groups of one variant are told apart by their run's label or, of several runs, by the folder that holds them.
void name_groups(std::vector<SeedGroup>& groups) {
  std::map<std::string, int> count;
  for (const SeedGroup& group : groups) ++count[group.label];
  std::map<std::string, int> names;
  for (SeedGroup& group : groups) {
    if (count[group.label] == 1) continue;
    const RunData& first = *group.runs.front();
    const std::string study =
        report::folder_name(std::filesystem::absolute(first.dir).lexically_normal().parent_path());
    const std::string name = group.runs.size() == 1 ? first.label : study + "/" + group.variant;
    const int number = ++names[name];
    group.label = number == 1 ? name : fmt::format("{} ({})", name, number);
  }
}

}  // namespace

std::vector<SeedGroup> group_by_seed(std::vector<RunData>& runs) {
  std::vector<SeedGroup> groups;
  for (const RunData& run : runs) {
    const std::string settings = shared_settings(run);
    const auto takes = [&](const SeedGroup& group) {
      const auto has_seed = [&](const RunData* other) { return other->seed == run.seed; };
      return run.seed && group.runs.front()->seed && group.variant == run.variant && group.settings == settings &&
             std::ranges::none_of(group.runs, has_seed);
    };
    const auto found = std::ranges::find_if(groups, takes);
    if (found != groups.end()) {
      found->runs.push_back(&run);
    } else {
      groups.push_back({run.variant.empty() ? run.label : run.variant, run.variant, settings, {&run}});
    }
  }
  for (SeedGroup& group : groups) {
    drop_unfinished(group, runs);
    std::ranges::sort(group.runs, {}, &RunData::seed);
  }
  name_groups(groups);
  return groups;
}

std::size_t most_seeds(const std::vector<SeedGroup>& groups) {
  std::size_t most = 0;
  for (const SeedGroup& group : groups) most = std::max(most, group.runs.size());
  return most;
}

}  // namespace crope::study
