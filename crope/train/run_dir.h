// What is where in a run directory (docs/formats.md), and which checkpoints stay in it.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <vector>

namespace crope::train {

inline constexpr const char* kRunFile = "run.json";
inline constexpr const char* kMetricsFile = "metrics.jsonl";
inline constexpr const char* kCheckpoints = "checkpoints";
inline constexpr const char* kLatestLink = "latest";
inline constexpr const char* kBestLink = "best";

struct Checkpoint {
  std::int64_t step;
  std::filesystem::path path;
};

// checkpoints/step_00000500
std::filesystem::path checkpoint_path(const std::filesystem::path& run, std::int64_t step);

// By step, first the oldest.
std::vector<Checkpoint> list_checkpoints(const std::filesystem::path& run);

// Where to go on from, in this order: what `latest` points to, then what is older than it; all, the newest first, when
// there is no such link.
std::vector<Checkpoint> resume_candidates(const std::filesystem::path& run);

// Lets `latest` (or `best`) point to the checkpoint of that step.
void link_checkpoint(const std::filesystem::path& run, const char* link, std::int64_t step);

// Removes checkpoints up to `step` but for the newest `keep` of them and `best`. 0 keeps all.
void prune_checkpoints(const std::filesystem::path& run, std::int64_t step, std::int64_t keep,
                       std::optional<std::int64_t> best);

}  // namespace crope::train
