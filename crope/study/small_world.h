// The embedded corpus, ready to train on: documents, benchmarks, tokenizer and shards in one folder.
#pragma once

#include <cstdint>
#include <filesystem>

#include "crope/base/log.h"
#include "crope/world/benchmark.h"

namespace crope::study {

struct SmallWorldOptions {
  std::int64_t documents = 60'000;
  std::int64_t vocab_size = 1024;
  world::BenchmarkSizes benchmarks = {.hellaswag_items = 2000, .mmlu_items = 2000, .gsm8k_items = 500};
};

struct SmallWorld {
  std::filesystem::path world;       // world/train.jsonl
  std::filesystem::path benchmarks;  // world/eval
  std::filesystem::path tokenizer;
  std::filesystem::path data;  // shards
};

// Makes world/, tokenizer/ and data/ in `folder`, except those that exist. A folder that was made with other
// options is an Error.
SmallWorld make_small_world(const std::filesystem::path& folder, const SmallWorldOptions& options, Log& log);

}  // namespace crope::study
