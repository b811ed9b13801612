#include "crope/run/run_dir.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>

#include "crope/base/error.h"
#include "crope/base/file.h"
#include "crope/run/checkpoint_removal.h"

namespace crope::run {
namespace fs = std::filesystem;
namespace {

constexpr std::string_view kPrefix = "step_";

fs::path relative_checkpoint_path(std::int64_t step) {
  return fs::path(kCheckpoints) / fmt::format("{}{:08}", kPrefix, step);
}

// The step of "step_00000500"; nothing for any other name.
std::optional<std::int64_t> step_of(const std::string& name) {
  if (!name.starts_with(kPrefix)) return {};
  std::int64_t step = 0;
  const char* const end = name.data() + name.size();
  const auto [stop, code] = std::from_chars(name.data() + kPrefix.size(), end, step);
  if (code != std::errc() || stop != end || step < 0) return {};
  return step;
}

}  // namespace

bool holds_run(const fs::path& path) {
  std::error_code ignored;
  return std::ranges::any_of(std::array{kRecordFile, kMetricsFile, kResultsFile, kItemsFile},
                             [&](const char* name) { return fs::exists(path / name, ignored); });
}

Json read_record(const fs::path& run) {
  const fs::path path = run / kRecordFile;
  if (!fs::exists(path)) return nullptr;
  Json record = read_json(path);
  if (!record.is_object()) {
    throw Error(fmt::format("{}: expected a JSON object, found {}", path.string(), record.type_name()),
                "it was not written by this program, or is damaged");
  }
  return record;
}

std::optional<std::int64_t> planned_steps(const Json& record) {
  const auto train = record.is_object() ? record.find("train") : record.end();
  if (!record.is_object() || train == record.end() || !train->is_object()) return {};
  const auto steps = train->find("steps");
  if (steps == train->end() || !steps->is_number_integer()) return {};
  return steps->get<std::int64_t>();
}

fs::path checkpoint_path(const fs::path& run, std::int64_t step) {
  return run / relative_checkpoint_path(step);
}

std::vector<Checkpoint> list_checkpoints(const fs::path& run) {
  std::vector<Checkpoint> checkpoints;
  std::error_code code;
  for (const auto& entry : fs::directory_iterator(run / kCheckpoints, code)) {
    const auto step = step_of(entry.path().filename().string());
    if (step && entry.is_directory()) checkpoints.push_back({*step, entry.path()});
  }
  std::ranges::sort(checkpoints, {}, &Checkpoint::step);
  return checkpoints;
}

std::vector<Checkpoint> resume_candidates(const fs::path& run) {
  std::vector<Checkpoint> checkpoints = list_checkpoints(run);
  std::ranges::reverse(checkpoints);
  std::error_code code;
  const fs::path target = fs::read_symlink(run / kLatestLink, code);
  const auto latest = code ? std::nullopt : step_of(target.filename().string());
  // Newer ones were being written when the run was killed, or someone moved the link back: the run makes them again.
  if (latest) std::erase_if(checkpoints, [&](const Checkpoint& each) { return each.step > *latest; });
  return checkpoints;
}

bool has_reached(const fs::path& run, std::int64_t step) {
  const std::vector<Checkpoint> checkpoints = resume_candidates(run);
  return !checkpoints.empty() && checkpoints.front().step >= step;
}

void link_checkpoint(const fs::path& run, const char* link, std::int64_t step) {
  replace_symlink(relative_checkpoint_path(step), run / link);
}

void mend_best_link(const fs::path& run, std::int64_t step) {
  std::error_code code;
  const fs::path checkpoint = checkpoint_path(run, step);
  if (!fs::exists(checkpoint, code)) return;
  if (fs::read_symlink(run / kBestLink, code).filename() == checkpoint.filename()) return;
  link_checkpoint(run, kBestLink, step);
}

std::vector<std::string> prune_checkpoints(const fs::path& run, std::int64_t step, std::int64_t keep,
                                           std::optional<std::int64_t> best) {
  std::vector<std::string> failures;
  if (keep == 0) return failures;
  sweep_removed_checkpoints(run / kCheckpoints);
  std::vector<Checkpoint> checkpoints = list_checkpoints(run);
  std::erase_if(checkpoints, [&](const Checkpoint& each) { return each.step > step; });
  const auto count = static_cast<std::int64_t>(checkpoints.size());
  for (std::int64_t i = 0; i < count - keep; ++i) {
    if (checkpoints[i].step == best) continue;
    std::string failure = remove_checkpoint(checkpoints[i].path);
    if (!failure.empty()) failures.push_back(std::move(failure));
  }
  return failures;
}

}  // namespace crope::run
