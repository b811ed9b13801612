#include "crope/study/repeated_run.h"

#include <fmt/format.h>

#include <algorithm>
#include <vector>

#include "crope/run/metrics.h"
#include "crope/run/run_dir.h"
#include "crope/study/experiment.h"
#include "crope/train/trainer.h"

namespace crope::study {
namespace fs = std::filesystem;
namespace {

// The lines of a metrics.jsonl without what depends on the clock.
std::vector<Json> untimed_lines(const fs::path& path) {
  std::vector<Json> lines;
  for (run::MetricsLine& line : run::read_metrics(path).lines) {
    for (const char* timed : {"tokens_per_second", "elapsed_s"}) line.fields.erase(timed);
    lines.push_back(std::move(line.fields));
  }
  return lines;
}

std::string describe(const Json& then, const Json& now) {
  for (const auto& [key, value] : then.items()) {
    if (now.contains(key) && now[key] == value) continue;
    return fmt::format("step {}: {} {} then, {} now", then["step"].dump(), key, value.dump(),
                       now.contains(key) ? now[key].dump() : "missing");
  }
  return fmt::format("step {}: fields that were not recorded then", then["step"].dump());
}

}  // namespace

std::string first_difference(const fs::path& then, const fs::path& now, std::int64_t* lines) {
  const std::vector<Json> old_lines = untimed_lines(then), new_lines = untimed_lines(now);
  const auto [old_end, new_end] = std::ranges::mismatch(old_lines, new_lines);
  *lines = old_end - old_lines.begin();
  if (old_end != old_lines.end() && new_end != new_lines.end()) return describe(*old_end, *new_end);
  if (old_end != old_lines.end()) return "the run has fewer lines than the recorded one";
  return new_end != new_lines.end() ? "the run has more lines than the recorded one" : "";
}

std::optional<RepeatedRun> repeat_run(const fs::path& run, const fs::path& into, const Json& program, Log& log) {
  train::JobRequest request = train::recorded_request(run, into);
  const std::string then = request.program.value("build", ""), now = program.value("build", "");
  if (then != now) {
    log.warn(fmt::format("{} was trained by build {}, this program is build {}: the last bits may differ", run.string(),
                         then.empty() ? "(unknown)" : then, now));
  }
  request.program = program;
  const Json begun = run::read_record(into);
  const bool can_resume = begun.is_object() && begun.value("build", "") == now && !is_finished_run(into);
  if (!can_resume) fs::remove_all(into);
  if (!train::train(train::resolve_job(request), log).finished) return {};
  RepeatedRun result{.run = into};
  result.difference = first_difference(run / run::kMetricsFile, into / run::kMetricsFile, &result.lines);
  return result;
}

}  // namespace crope::study
