#include "crope/study/repeated_run.h"

#include <fmt/format.h>

#include "crope/base/error.h"
#include "crope/formats/jsonl.h"
#include "crope/train/run_dir.h"
#include "crope/train/trainer.h"

namespace crope::study {
namespace fs = std::filesystem;
namespace {

// The next line of a metrics.jsonl without what depends on the clock; null at the end.
Json next_line(formats::LineReader& lines, const fs::path& path) {
  const auto line = lines.next();
  if (!line) return nullptr;
  Json json = parse_json(*line, path.string());
  for (const char* timed : {"tokens_per_second", "elapsed_s"}) json.erase(timed);
  return json;
}

std::string describe(const Json& then, const Json& now) {
  if (then.is_null()) return "the run has more lines than the recorded one";
  if (now.is_null()) return "the run has fewer lines than the recorded one";
  for (const auto& [key, value] : then.items()) {
    if (now.contains(key) && now[key] == value) continue;
    return fmt::format("step {}: {} {} then, {} now", then.value("step", 0), key, value.dump(),
                       now.contains(key) ? now[key].dump() : "missing");
  }
  return fmt::format("step {}: fields that were not recorded then", then.value("step", 0));
}

}  // namespace

std::string first_difference(const fs::path& then, const fs::path& now, std::int64_t* lines) {
  formats::LineReader old_lines(formats::InputStream::open(then.string()));
  formats::LineReader new_lines(formats::InputStream::open(now.string()));
  *lines = 0;
  while (true) {
    const Json old_line = next_line(old_lines, then), new_line = next_line(new_lines, now);
    if (old_line.is_null() && new_line.is_null()) return {};
    if (old_line != new_line) return describe(old_line, new_line);
    ++*lines;
  }
}

std::optional<RepeatedRun> repeat_run(const fs::path& run, const fs::path& into, const Json& program, Log& log) {
  train::JobRequest request = train::recorded_request(run, into);
  const std::string then = request.program.value("build", ""), now = program.value("build", "");
  if (then != now) {
    log.warn(fmt::format("{} was trained by build {}, this program is build {}: the last bits may differ", run.string(),
                         then.empty() ? "(unknown)" : then, now));
  }
  request.program = program;
  if (!train::train(train::resolve_job(request), log).finished) return {};
  RepeatedRun result{.run = into};
  result.difference = first_difference(run / train::kMetricsFile, into / train::kMetricsFile, &result.lines);
  return result;
}

}  // namespace crope::study
