#include "crope/eval/benchmark_files.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>

#include "crope/base/error.h"

namespace crope::eval {
namespace fs = std::filesystem;
namespace {

// One folder level may be "*" (any folder, in order of names), and the last part may hold one "*".
struct SplitNames {
  std::string_view benchmark;
  Split split;
  std::vector<const char*> patterns;
};

const std::array kNames = {
    SplitNames{"hellaswag",
               Split::evaluation,
               {"hellaswag_val.jsonl", "validation.jsonl", "val.jsonl", "data/validation-*.parquet",
                "validation-*.parquet", "default/validation/*.parquet"}},
    SplitNames{
        "hellaswag",
        Split::examples,
        {"hellaswag_train.jsonl", "train.jsonl", "data/train-*.parquet", "train-*.parquet", "default/train/*.parquet"}},
    SplitNames{"mmlu",
               Split::evaluation,
               {"mmlu_test.jsonl", "test.jsonl", "all/test-*.parquet", "all/test/*.parquet", "data/test-*.parquet",
                "test-*.parquet", "*/test-*.parquet"}},
    SplitNames{"mmlu",
               Split::examples,
               {"mmlu_dev.jsonl", "dev.jsonl", "all/dev-*.parquet", "all/dev/*.parquet", "data/dev-*.parquet",
                "dev-*.parquet", "*/dev-*.parquet"}},
    SplitNames{"gsm8k",
               Split::evaluation,
               {"test.jsonl", "gsm8k_test.jsonl", "main/test-*.parquet", "test-*.parquet", "main/test/*.parquet"}},
    SplitNames{"gsm8k",
               Split::examples,
               {"train.jsonl", "gsm8k_train.jsonl", "main/train-*.parquet", "train-*.parquet", "main/train/*.parquet"}},
};

bool matches(const std::string& name, std::string_view pattern) {
  const std::size_t star = pattern.find('*');
  if (star == std::string_view::npos) return name == pattern;
  return name.size() + 1 >= pattern.size() && name.starts_with(pattern.substr(0, star)) &&
         name.ends_with(pattern.substr(star + 1));
}

// What of `folder` fits the first part of the pattern, and so on to the last.
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

const SplitNames& names_of(std::string_view benchmark, Split split) {
  return *std::find_if(kNames.begin(), kNames.end(),
                       [&](const SplitNames& each) { return each.benchmark == benchmark && each.split == split; });
}

}  // namespace

std::vector<fs::path> find_benchmark_files(const fs::path& data, std::string_view benchmark, Split split) {
  for (const fs::path& folder : {data / benchmark, data}) {
    for (const char* pattern : names_of(benchmark, split).patterns) {
      std::vector<fs::path> found;
      collect(folder, pattern, found);
      if (!found.empty()) return found;
    }
  }
  return {};
}

std::vector<fs::path> require_benchmark_files(const fs::path& data, std::string_view benchmark, Split split) {
  std::vector<fs::path> found = find_benchmark_files(data, benchmark, split);
  if (!found.empty()) return found;
  if (!fs::exists(data)) throw Error(fmt::format("{}: there is no such folder of benchmark files", data.string()));
  const char* what = split == Split::evaluation ? "questions" : "few-shot examples";
  throw Error(fmt::format("{}: there are no {} of {}", data.string(), what, benchmark),
              fmt::format("put one of these into {}: {}", (data / benchmark).string(),
                          fmt::join(names_of(benchmark, split).patterns, ", ")));
}

}  // namespace crope::eval
