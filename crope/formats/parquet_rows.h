// The rows of a small Parquet file as JSON objects: what benchmarks are published as. For a corpus see parquet.h.
#pragma once

#include <filesystem>
#include <functional>

#include "crope/base/json.h"

namespace crope::formats {

// Calls `take` with each row in order, one member for each column: strings, whole numbers, floating-point numbers,
// truth values, null, and lists and structures of them; dictionaries are what they stand for.
// Throws Error naming the file if it is damaged, no Parquet file, or larger than 1 GB as JSON, and naming the column if
// it holds another type.
void read_parquet_rows(const std::filesystem::path& path, const std::function<void(Json)>& take);

}  // namespace crope::formats
