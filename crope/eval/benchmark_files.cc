#include "crope/eval/benchmark_files.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "crope/base/error.h"

namespace crope::eval {
namespace fs = std::filesystem;
namespace {

std::vector<std::string> split_names(std::string_view split) {
  if (split == kValidation) return {kValidation, "val", "valid", "dev"};
  return {std::string(split)};
}

bool matches(const std::string& name, std::string_view pattern) {
  const std::size_t star = pattern.find('*');
  if (star == std::string_view::npos) return name == pattern;
  return name.size() + 1 >= pattern.size() && name.starts_with(pattern.substr(0, star)) &&
         name.ends_with(pattern.substr(star + 1));
}

// Adds the files below `folder` that match the pattern, part by part, in order of names.
void collect(const fs::path& folder, const fs::path& pattern, std::vector<fs::path>& found) {
  std::error_code error;
  if (!fs::is_directory(folder, error)) return;
  const std::string first = pattern.begin()->string();
  fs::path rest;
  for (auto part = std::next(pattern.begin()); part != pattern.end(); ++part) rest /= *part;
  std::vector<fs::path> entries;
  for (const auto& entry : fs::directory_iterator(folder, error)) {
    if (matches(entry.path().filename().string(), first)) entries.push_back(entry.path());
  }
  std::sort(entries.begin(), entries.end());
  for (const fs::path& entry : entries) {
    if (!rest.empty()) {
      collect(entry, rest, found);
    } else if (fs::is_regular_file(entry, error)) {
      found.push_back(entry);
    }
  }
}

}  // namespace

std::vector<std::string> benchmark_file_names(const TaskRow& row, Split split) {
  const auto& own = split == Split::questions ? row.question_files : row.example_files;
  const std::string name = split == Split::questions ? row.split : row.examples;
  std::vector<std::string> names(own.begin(), own.end());
  for (const std::string& each : split_names(name)) names.push_back(fmt::format("{}_{}.jsonl", row.name, each));
  for (const std::string& each : split_names(name)) names.push_back(each + ".jsonl");
  const std::string subset = *row.subset == 0 ? "default" : row.subset;
  for (const char* pattern : {"data/{1}-*.parquet", "{0}/{1}-*.parquet", "{1}-*.parquet", "{0}/{1}/*.parquet"}) {
    names.push_back(fmt::format(fmt::runtime(pattern), subset, name));
  }
  return names;
}

std::vector<fs::path> find_benchmark_files(const fs::path& data, const TaskRow& row, Split split) {
  const std::vector<std::string> names = benchmark_file_names(row, split);
  for (const fs::path& folder : {data / row.name, data}) {
    for (const std::string& name : names) {
      std::vector<fs::path> found;
      collect(folder, name, found);
      if (!found.empty()) return found;
    }
  }
  if (!fs::exists(data)) {
    throw Error(fmt::format("{}: no such folder of benchmark files", data.string()),
                "docs/evaluation.md lists the files of each task");
  }
  throw Error(fmt::format("{}: found no {} of {}", data.string(),
                          split == Split::questions ? "questions" : "few-shot examples", row.name),
              fmt::format("put one of these into {}: {}", (data / row.name).string(), fmt::join(names, ", ")));
}

}  // namespace crope::eval
