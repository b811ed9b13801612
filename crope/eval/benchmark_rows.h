// The rows of a benchmark's files and their fields, with errors that name the place.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "crope/base/json.h"

namespace crope::eval {

struct BenchmarkRow {
  Json fields;        // an object
  std::string where;  // "hellaswag_val.jsonl:17", "test.parquet, row 3"
};

// All rows of JSON lines (.jsonl, .ndjson, also .gz and .zst) and Parquet files, one file after another. Blank lines
// are skipped. Rows get the field 'label' from the lines of <file>-labels.lst where there is such a file beside theirs.
// Throws Error naming file and line of what is no JSON object in UTF-8, and if a file has no rows.
std::vector<BenchmarkRow> read_benchmark_rows(const std::vector<std::filesystem::path>& files);

// The value of a field. Throws Error naming file, line and field if it is missing or of another type.
const std::string& string_field(const BenchmarkRow& row, const char* name);
std::vector<std::string> strings_field(const BenchmarkRow& row, const char* name);
BenchmarkRow object_field(const BenchmarkRow& row, const char* name);

// A whole number from `first` to `first` + `count` - 1 or a string of its digits, less `first`. A boolean is 0 or 1.
std::int64_t index_field(const BenchmarkRow& row, const char* name, std::size_t count, std::int64_t first = 0);

}  // namespace crope::eval
