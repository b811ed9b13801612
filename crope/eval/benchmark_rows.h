// The rows of a benchmark's files, and their fields, with words for what is missing.
#pragma once

#include <cstdint>
#include <filesystem>
#include <span>
#include <string>
#include <vector>

#include "crope/base/json.h"

namespace crope::eval {

struct BenchmarkRow {
  Json fields;        // an object
  std::string where;  // "hellaswag_val.jsonl:17", "test.parquet, row 3"
};

// All rows of JSON lines (.jsonl, .ndjson, also .gz and .zst) and Parquet files, one file after another. Blank lines
// are passed over. Throws Error naming file and line of what is no JSON object in UTF-8, and if there is no row at all.
std::vector<BenchmarkRow> read_benchmark_rows(std::span<const std::filesystem::path> files);

// The value of a field. Throws Error naming file, line and field if it is missing or of another type.
const std::string& string_field(const BenchmarkRow& row, const char* name);
std::vector<std::string> strings_field(const BenchmarkRow& row, const char* name);

// A whole number from 0 to `count` - 1, or a string of its digits.
std::int64_t index_field(const BenchmarkRow& row, const char* name, std::size_t count);

}  // namespace crope::eval
