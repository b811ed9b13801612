#include "crope/study/study_data.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <iterator>
#include <map>
#include <optional>
#include <string_view>

#include "crope/base/error.h"
#include "crope/model/variant.h"
#include "crope/run/run_dir.h"
#include "crope/study/run_identity.h"

namespace crope::study {
namespace fs = std::filesystem;
namespace {

constexpr std::size_t kMostDigits = 18;  // of a seed

// The seed in the name of a folder of this variant; nothing if it has another form.
std::optional<std::int64_t> seed_of(const std::string& name, std::string_view variant) {
  if (!name.starts_with(variant) || name.size() < variant.size() + 2 || name[variant.size()] != '_') return {};
  const std::string digits = name.substr(variant.size() + 1);
  if (digits.size() > kMostDigits || digits.find_first_not_of("0123456789") != std::string::npos) return {};
  return std::stoll(digits);
}

std::vector<StudyRun> read_variant(const std::vector<fs::path>& folders, const std::string& variant) {
  std::map<std::int64_t, fs::path> by_seed;
  for (const fs::path& folder : folders) {
    const auto seed = seed_of(folder.filename().string(), variant);
    if (!seed) continue;
    const auto [other, is_new] = by_seed.emplace(*seed, folder);
    if (is_new) continue;
    throw Error(
        fmt::format("{} and {} are both seed {} of {}", other->second.string(), folder.string(), *seed, variant),
        "keep one of them");
  }
  std::vector<StudyRun> runs;
  for (const auto& [seed, folder] : by_seed) runs.push_back(read_study_run(folder, variant, seed));
  return runs;
}

void check_settings(const std::vector<StudyRun>& runs) {
  std::map<std::string, std::pair<std::string, Json>> known;  // field -> first run that has it, value
  for (const StudyRun& run : runs) {
    for (const auto& [field, value] : run_identity(run.record)) {
      const auto& [first, expected] = known.try_emplace(field, run.name, value).first->second;
      if (expected == value) continue;
      throw Error(
          fmt::format("the runs of this study are not comparable: {} is {} in {}/run.json and {} in {}/run.json", field,
                      expected.dump(), first, value.dump(), run.name),
          "a study varies only the variant and the seed: move other runs elsewhere");
    }
  }
}

void warn_of_builds(Study& study) {
  for (const char* field : {"version", "build"}) {
    std::map<std::string, std::string> values;  // value -> first run that has it
    for (const StudyRun& run : study.runs) {
      if (run.record.is_object() && run.record.contains(field)) values.try_emplace(run.record[field].dump(), run.name);
    }
    if (values.size() < 2) continue;
    const auto first = values.begin(), second = std::next(first);
    study.warnings.push_back(fmt::format("the runs come from different builds: {} is {} in {} and {} in {}", field,
                                         first->first, first->second, second->first, second->second));
  }
}

// A run that stopped early has the loss of an earlier step: it is not comparable with the others.
void skip_unfinished(Study& study) {
  std::int64_t last = 0, planned = 0;
  for (const StudyRun& run : study.runs) {
    last = std::max(last, run.last_step);
    planned = std::max(planned, run.planned_steps.value_or(0));
  }
  if (last > 0 && last < planned) {
    study.warnings.push_back(fmt::format("no run has finished: the longest stopped at step {} of {}", last, planned));
  }
  std::erase_if(study.runs, [&](const StudyRun& run) {
    if (run.last_step == 0 || run.last_step == last) return false;
    study.warnings.push_back(
        fmt::format("skipped {}: it stopped at step {}, others at {}", run.name, run.last_step, last));
    return true;
  });
}

// Seeds that give the same losses are one run, copied.
void warn_of_copies(Study& study) {
  for (std::size_t i = 0; i < study.runs.size(); ++i) {
    for (std::size_t j = i + 1; j < study.runs.size(); ++j) {
      const StudyRun &a = study.runs[i], &b = study.runs[j];
      if (a.variant != b.variant || a.steps.empty() || a.steps.size() != b.steps.size()) continue;
      if (!std::ranges::equal(a.steps, b.steps, {}, &StepRecord::loss, &StepRecord::loss)) continue;
      study.warnings.push_back(
          fmt::format("{} and {} have the same training losses: they may be copies of one run", a.name, b.name));
    }
  }
}

}  // namespace

void check_comparable(Study& study) {
  check_settings(study.runs);
  skip_unfinished(study);
  warn_of_builds(study);
  warn_of_copies(study);
}

Study read_study(const fs::path& dir) {
  if (!fs::is_directory(dir)) {
    throw Error(fmt::format("{} is not a folder", dir.string()), "give the --out folder of 'crope reproduce'");
  }
  std::vector<fs::path> folders;
  for (const auto& entry : fs::directory_iterator(dir)) {
    if (entry.is_directory() && run::holds_run(entry.path())) folders.push_back(entry.path());
  }
  std::ranges::sort(folders);
  Study study;
  for (const model::VariantTraits& row : model::kVariants) {
    for (StudyRun& run : read_variant(folders, std::string(row.name))) study.runs.push_back(std::move(run));
  }
  if (study.runs.empty()) {
    throw Error(fmt::format("{} has no run directory named <variant>_<seed>, such as rope_0", dir.string()),
                "give the --out folder of 'crope reproduce', or train with --out STUDY/rope_0");
  }
  for (StudyRun& run : study.runs) {
    std::ranges::move(run.warnings, std::back_inserter(study.warnings));
  }
  check_comparable(study);
  return study;
}

}  // namespace crope::study
