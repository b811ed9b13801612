// Repeats a finished run from its run.json and compares the two.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>

#include "crope/base/json.h"
#include "crope/base/log.h"

namespace crope::study {

struct RepeatedRun {
  std::filesystem::path run;  // the new one
  std::int64_t lines = 0;     // of metrics.jsonl that were compared
  std::string difference;     // the first one, "step 17: loss 3.25 then, 3.26 now"; empty: there is none
};

// Trains the run recorded in `run` again in `into`, with the settings of its run.json, and compares the two
// metrics.jsonl but for their times. Resumes an `into` that this build has begun, and starts over otherwise. Nothing
// when a signal has stopped it. Warns if `program`, the record of this program, is another build than the one in
// run.json.
std::optional<RepeatedRun> repeat_run(const std::filesystem::path& run, const std::filesystem::path& into,
                                      const Json& program, Log& log);

// The first difference between two metrics.jsonl but for times; empty when there is none. `lines` counts equal lines.
std::string first_difference(const std::filesystem::path& then, const std::filesystem::path& now, std::int64_t* lines);

}  // namespace crope::study
