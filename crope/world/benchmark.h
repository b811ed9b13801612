// The three benchmarks of the small world, in the file formats of HellaSwag, MMLU and GSM8K. Their items are on the
// other side of the fingerprint than the documents', and no two of them share one.
#pragma once

#include <cstdint>
#include <vector>

#include "crope/base/json.h"

namespace crope::world {

struct BenchmarkSizes {
  std::int64_t hellaswag_items = 500;
  std::int64_t mmlu_items = 500;   // over all subjects, as evenly as possible
  std::int64_t gsm8k_items = 500;  // to test with, and as many to show as examples
};

inline constexpr std::int64_t kDevItemsPerSubject = 5;  // as MMLU has

// One object for each line of the file.
struct Benchmarks {
  std::vector<Json> hellaswag;  // ind, activity_label, ctx_a, ctx_b, ctx, split, endings, label, source_id, split_type
  std::vector<Json> mmlu_dev;   // subject, question, choices, answer
  std::vector<Json> mmlu_test;  // the same, sorted by subject
  std::vector<Json> gsm8k_train;  // question, answer
  std::vector<Json> gsm8k_test;
};

// Right answers stand in each of the four places equally often.
Benchmarks make_benchmarks(std::uint64_t seed, const BenchmarkSizes& sizes);

}  // namespace crope::world
