#include "crope/eval/benchmark_rows.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <span>
#include <utility>

#include "crope/base/error.h"
#include "crope/base/json_fields.h"
#include "crope/formats/jsonl.h"
#include "crope/formats/parquet_rows.h"

namespace crope::eval {
namespace fs = std::filesystem;
namespace {

constexpr std::size_t kLongestLine = std::size_t{1} << 24;

void read_lines(const fs::path& file, std::vector<BenchmarkRow>& rows) {
  formats::LineReader lines(formats::InputStream::open(file), kLongestLine);
  while (const auto line = lines.next()) {
    if (line->find_first_not_of(" \t\r") == std::string_view::npos) continue;
    std::string where = fmt::format("{}:{}", file.string(), lines.line_number());
    Json fields = parse_json(*line, where);
    if (!fields.is_object()) throw Error(fmt::format("{}: expected a JSON object", where));
    rows.push_back({std::move(fields), std::move(where)});
  }
}

// PIQA's publishers have the answers in a file of their own.
void add_labels(const fs::path& file, std::span<BenchmarkRow> rows) {
  const fs::path labels = file.parent_path() / (file.stem().string() + "-labels.lst");
  if (!fs::exists(labels)) return;
  formats::LineReader lines(formats::InputStream::open(labels), kLongestLine);
  std::size_t count = 0;
  for (; const auto line = lines.next(); ++count) {
    if (count < rows.size() && !rows[count].fields.contains("label")) {
      rows[count].fields["label"] = parse_json(*line, fmt::format("{}:{}", labels.string(), lines.line_number()));
    }
  }
  if (count != rows.size()) {
    throw Error(fmt::format("{}: {} labels for the {} rows of {}", labels.string(), count, rows.size(), file.string()));
  }
}

const Json& field(const BenchmarkRow& row, const char* name) {
  const auto found = row.fields.find(name);
  if (found != row.fields.end()) return *found;
  std::string there;
  for (const auto& [key, value] : row.fields.items()) there += (there.empty() ? "" : ", ") + key;
  throw Error(fmt::format("{}: there is no field '{}'; there are: {}", row.where, name, there),
              "is this the file of another benchmark?");
}

[[noreturn]] void wrong_type(const BenchmarkRow& row, const char* name, std::string_view expected, const Json& value) {
  throw Error(fmt::format("{}: {}: {}", row.where, name, expected_found(expected, &value)));
}

}  // namespace

std::vector<BenchmarkRow> read_benchmark_rows(const std::vector<fs::path>& files) {
  std::vector<BenchmarkRow> rows;
  for (const fs::path& file : files) {
    const std::size_t before = rows.size();
    if (file.extension() == ".parquet") {
      formats::read_parquet_rows(file, [&](Json fields) {
        rows.push_back({std::move(fields), fmt::format("{}, row {}", file.string(), rows.size() - before + 1)});
      });
    } else {
      read_lines(file, rows);
    }
    if (rows.size() == before) {
      throw Error(fmt::format("{}: the file has no rows", file.string()), "fetch or write it again");
    }
    add_labels(file, std::span(rows).subspan(before));
  }
  return rows;
}

const std::string& string_field(const BenchmarkRow& row, const char* name) {
  const Json& value = field(row, name);
  if (!value.is_string()) wrong_type(row, name, "a string", value);
  return value.get_ref<const std::string&>();
}

std::vector<std::string> strings_field(const BenchmarkRow& row, const char* name) {
  const Json& value = field(row, name);
  const bool fits = value.is_array() && !value.empty() &&
                    std::all_of(value.begin(), value.end(), [](const Json& each) { return each.is_string(); });
  if (!fits) wrong_type(row, name, "a list of strings", value);
  return value.get<std::vector<std::string>>();
}

BenchmarkRow object_field(const BenchmarkRow& row, const char* name) {
  const Json& value = field(row, name);
  if (!value.is_object()) wrong_type(row, name, "an object", value);
  return {value, fmt::format("{}, {}", row.where, name)};
}

std::int64_t index_field(const BenchmarkRow& row, const char* name, std::size_t count, std::int64_t first) {
  const Json& value = field(row, name);
  std::int64_t number = first - 1;
  if (value.is_number_integer()) {
    number = value.get<std::int64_t>();
  } else if (value.is_boolean()) {
    number = value.get<bool>() ? 1 : 0;
  } else if (value.is_string()) {
    const auto& text = value.get_ref<const std::string&>();
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
    if (error != std::errc() || end != text.data() + text.size()) number = first - 1;
  }
  if (number < first || number - first >= static_cast<std::int64_t>(count)) {
    wrong_type(row, name, fmt::format("the number of one of {} choices, from {}", count, first), value);
  }
  return number - first;
}

}  // namespace crope::eval
