// The embedded corpus: a small world told in documents, with benchmarks whose answers follow from it
// (docs/synthetic_world.md). The same on every machine for the same options.
#pragma once

#include <cstdint>
#include <filesystem>

#include "crope/base/json.h"
#include "crope/base/log.h"
#include "crope/world/benchmark.h"

namespace crope::world {

struct WorldOptions {
  std::int64_t documents = 20000;
  std::uint64_t seed = 1;
  BenchmarkSizes benchmarks = {};
};

// Grows by one whenever the same options give other bytes.
inline constexpr int kWorldVersion = 4;

// Writes a folder that appears whole or not at all:
//   train.jsonl                           {"text": ...} a line
//   eval/hellaswag/hellaswag_val.jsonl    eval/mmlu/mmlu_{dev,test}.jsonl    eval/gsm8k/{train,test}.jsonl
//   world.json                            what is returned: version, seed, and counts
// Throws UsageError on a negative number, and Error if `folder` exists or cannot be written.
Json write_synthetic_world(const WorldOptions& options, const std::filesystem::path& folder, Log& log);

}  // namespace crope::world
