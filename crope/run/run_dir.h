// The run directory (docs/formats.md): what its files are called, and which checkpoints it holds. Nothing else in the
// program knows these names.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "crope/base/json.h"

namespace crope::run {

inline constexpr const char* kRecordFile = "run.json";
inline constexpr const char* kMetricsFile = "metrics.jsonl";
inline constexpr const char* kResultsFile = "results.json";
inline constexpr const char* kItemsFile = "items.jsonl";
inline constexpr const char* kCheckpoints = "checkpoints";
inline constexpr const char* kLatestLink = "latest";
inline constexpr const char* kBestLink = "best";

// Whether `path` holds a run: a record, metrics, results or answered items. Never throws.
bool holds_run(const std::filesystem::path& path);

// run.json as an object; null without one. Throws Error if it cannot be read or is no object.
Json read_record(const std::filesystem::path& run);

// The number of updates that run.json plans; nothing where it does not tell.
std::optional<std::int64_t> planned_steps(const Json& record);

struct Checkpoint {
  std::int64_t step;
  std::filesystem::path path;
};

// checkpoints/step_00000500
std::filesystem::path checkpoint_path(const std::filesystem::path& run, std::int64_t step);

// By step, the oldest first.
std::vector<Checkpoint> list_checkpoints(const std::filesystem::path& run);

// Where a run can resume, in this order: the checkpoint that `latest` points to, then the older ones; without such a
// link all of them, the newest first.
std::vector<Checkpoint> resume_candidates(const std::filesystem::path& run);

// Whether the newest checkpoint to resume from has reached `step`.
bool has_reached(const std::filesystem::path& run, std::int64_t step);

// Points `latest` (or `best`) to the checkpoint of that step.
void link_checkpoint(const std::filesystem::path& run, const char* link, std::int64_t step);

// Points `best` to the checkpoint of that step if it is there and another is linked: a process that ended between the
// two links has left `best` where it was.
void mend_best_link(const std::filesystem::path& run, std::int64_t step);

// Removes checkpoints up to `step` except the newest `keep` of them and `best`. 0 keeps all. Returns a message for
// each checkpoint that could not be removed.
std::vector<std::string> prune_checkpoints(const std::filesystem::path& run, std::int64_t step, std::int64_t keep,
                                           std::optional<std::int64_t> best);

}  // namespace crope::run
