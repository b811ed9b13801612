#include "crope/study/study_data.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <iterator>
#include <map>
#include <utility>

#include "crope/base/error.h"
#include "crope/model/variant.h"
#include "crope/run/run_dir.h"
#include "crope/study/run_folders.h"
#include "crope/study/run_identity.h"

namespace crope::study {
namespace fs = std::filesystem;
namespace {

constexpr std::size_t kMostStudies = 8;  // that a hint lists

std::vector<StudyRun> read_variant(const std::vector<fs::path>& folders, std::string_view variant) {
  std::map<std::int64_t, fs::path> by_seed;
  for (const fs::path& folder : folders) {
    const auto name = parse_run_name(folder.filename().string());
    if (!name || name->variant != variant) continue;
    const auto [other, is_new] = by_seed.emplace(name->seed, folder);
    if (is_new) continue;
    throw Error(
        fmt::format("{} and {} are both seed {} of {}", other->second.string(), folder.string(), name->seed, variant),
        "keep one of them");
  }
  std::vector<StudyRun> runs;
  for (const auto& [seed, folder] : by_seed) runs.push_back(read_study_run(folder, std::string(variant), seed));
  return runs;
}

struct FirstValue {
  std::string run;
  Json value;
};

std::string in_record(const std::string& run, const Json& value) {
  return value.is_null() ? fmt::format("missing in {}/{}", run, run::kRecordFile)
                         : fmt::format("{} in {}/{}", value.dump(), run, run::kRecordFile);
}

void check_settings(Study& study) {
  std::map<std::string, FirstValue> known, unknown;  // field -> first run that has it
  for (const StudyRun& run : study.runs) {
    const RunIdentity identity = run_identity(run.record);
    for (const auto& [field, value] : identity.fields) {
      const FirstValue& first = known.try_emplace(field, run.name, value).first->second;
      if (first.value == value) continue;
      throw Error(fmt::format("the runs of this study are not comparable: {} is {} and {}", field,
                              in_record(first.run, first.value), in_record(run.name, value)),
                  "a study varies only the variant and the seed: move other runs elsewhere");
    }
    for (const auto& [field, value] : identity.unknown) {
      const auto [first, is_new] = unknown.try_emplace(field, run.name, value);
      if (is_new || first->second.value == value || first->second.value.is_null()) continue;
      study.warnings.push_back(fmt::format("the unknown setting {} is {} and {}; it is not compared", field,
                                           in_record(first->second.run, first->second.value),
                                           in_record(run.name, value)));
      first->second.value = nullptr;  // one warning is enough
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

// One warning for all runs with the same problem.
void warn_of_models(Study& study) {
  std::map<std::string, std::vector<std::string>> runs;  // problem -> names
  for (const StudyRun& run : study.runs) {
    if (!run.model_problem.empty()) runs[run.model_problem].push_back(run.name);
  }
  for (const auto& [problem, names] : runs) {
    study.warnings.push_back(fmt::format("the model of {} cannot be read: {}", fmt::join(names, ", "), problem));
  }
}

// A run that stopped early has the loss of an earlier step: it is not comparable with the others.
void mark_unfinished(Study& study) {
  std::int64_t last = 0, planned = 0;
  for (const StudyRun& run : study.runs) {
    last = std::max(last, run.last_step);
    planned = std::max(planned, run.planned_steps.value_or(0));
  }
  if (last > 0 && last < planned) {
    study.warnings.push_back(fmt::format("no run has finished: the longest stopped at step {} of {}", last, planned));
  }
  for (StudyRun& run : study.runs) {
    if (run.last_step == 0 || run.last_step == last) continue;
    run.is_finished = false;
    study.warnings.push_back(
        fmt::format("skipped {}: it stopped at step {}, others at {}", run.name, run.last_step, last));
  }
}

bool is_same(double a, double b) {
  return a == b || (std::isnan(a) && std::isnan(b));
}

bool have_same_answers(const StudyRun& a, const StudyRun& b) {
  const auto has_items = [](const StudyRun& run) {
    return std::ranges::any_of(run.scores, [](const auto& each) { return !each.second.leaves.empty(); });
  };
  return has_items(a) && std::ranges::equal(a.scores, b.scores, [](const auto& one, const auto& other) {
           return one.first == other.first && one.second.leaves == other.second.leaves;
         });
}

// Seeds that give the same numbers are one run, copied. Runs without any loss are compared by their answers.
bool is_copy(const StudyRun& a, const StudyRun& b) {
  if (a.variant != b.variant) return false;
  const bool has_losses = !a.steps.empty() || !a.val_losses.empty();
  if (!has_losses) return b.steps.empty() && b.val_losses.empty() && have_same_answers(a, b);
  return std::ranges::equal(a.steps, b.steps, is_same, &StepRecord::loss, &StepRecord::loss) &&
         std::ranges::equal(a.val_losses, b.val_losses, is_same, &LossAtStep::loss, &LossAtStep::loss);
}

void skip_copies(Study& study) {
  std::vector<StudyRun> kept;
  for (StudyRun& run : study.runs) {
    const auto original = std::ranges::find_if(kept, [&](const StudyRun& other) { return is_copy(other, run); });
    if (original == kept.end()) {
      kept.push_back(std::move(run));
      continue;
    }
    study.warnings.push_back(
        fmt::format("skipped {}: it has the same losses as {}, so they count as one seed", run.name, original->name));
  }
  study.runs = std::move(kept);
}

// Only losses of the study's last validation are comparable.
void skip_earlier_losses(Study& study) {
  std::int64_t last = 0;
  for (const StudyRun& run : study.runs) {
    if (run.is_finished) last = std::max(last, run.val_loss_step());
  }
  for (StudyRun& run : study.runs) {
    if (!run.is_finished || run.val_losses.empty() || run.val_loss_step() == last) continue;
    study.warnings.push_back(fmt::format("skipped the losses of {}: its last validation is at step {}, others at {}",
                                         run.name, run.val_loss_step(), last));
    run.val_loss.reset();
    run.other_losses.clear();
  }
}

void warn_of_values(Study& study) {
  for (const StudyRun& run : study.runs) {
    if (!run.is_finished) continue;
    if (run.val_loss && !std::isfinite(*run.val_loss)) {
      study.warnings.push_back(fmt::format("{}: the last val_loss is not finite", run.name));
    }
    for (const auto& [text, loss] : run.other_losses) {
      if (std::isfinite(loss)) continue;
      study.warnings.push_back(fmt::format("{}: the last val_loss_{} is not finite", run.name, text));
    }
  }
}

// "study holds the studies study/main and study/wide"; empty if there are none.
std::string studies_below(const fs::path& dir) {
  std::vector<std::string> found;
  for (const auto& entry : fs::directory_iterator(dir)) {
    if (!entry.is_directory() || found.size() == kMostStudies) continue;
    const auto runs = runs_below(entry.path());
    const bool is_study = std::ranges::any_of(
        runs, [](const fs::path& run) { return parse_run_name(run.filename().string()).has_value(); });
    if (is_study) found.push_back(entry.path().string());
  }
  std::ranges::sort(found);
  return found.empty() ? "" : fmt::format("there are studies below it: {}", fmt::join(found, ", "));
}

[[noreturn]] void fail_without_runs(const fs::path& dir) {
  const fs::path name = (dir / "").parent_path().filename();
  std::string hint = studies_below(dir);
  if (hint.empty() && parse_run_name(name.string()) && run::holds_run(dir)) {
    hint = fmt::format("{} is one run; give the folder that holds it", dir.string());
  }
  if (hint.empty()) hint = "give the --out folder of 'crope reproduce', or train with --out STUDY/rope_0";
  throw Error(fmt::format("{} has no run directory named <variant>_<seed>, such as rope_0", dir.string()), hint);
}

bool names_run(const std::string& text, const std::string& run) {
  const auto is_word = [](char c) { return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_'; };
  for (std::size_t at = text.find(run); at != std::string::npos; at = text.find(run, at + 1)) {
    const std::size_t end = at + run.size();
    if ((at == 0 || !is_word(text[at - 1])) && (end == text.size() || !is_word(text[end]))) return true;
  }
  return false;
}

}  // namespace

void check_comparable(Study& study) {
  check_settings(study);
  mark_unfinished(study);
  skip_copies(study);
  skip_earlier_losses(study);
  warn_of_values(study);
  warn_of_models(study);
  warn_of_builds(study);
}

Study read_study(const fs::path& dir) {
  if (!fs::is_directory(dir)) {
    throw Error(fmt::format("{}: {}", dir.string(), fs::exists(dir) ? "not a folder" : "no such folder"),
                "give the --out folder of 'crope reproduce'");
  }
  const std::vector<fs::path> folders = runs_below(dir);
  Study study;
  for (const model::VariantTraits& row : model::kVariants) {
    for (StudyRun& run : read_variant(folders, row.name)) study.runs.push_back(std::move(run));
  }
  if (study.runs.empty()) fail_without_runs(dir);
  for (StudyRun& run : study.runs) {
    std::ranges::move(run.warnings, std::back_inserter(study.warnings));
  }
  check_comparable(study);
  return study;
}

std::vector<std::string> warnings_about(const Study& study, const std::string& variant) {
  std::vector<std::string> found;
  for (const std::string& warning : study.warnings) {
    bool names_any = false, names_own = false;
    for (const StudyRun& run : study.runs) {
      if (!names_run(warning, run.name)) continue;
      names_any = true;
      names_own = names_own || run.variant == variant;
    }
    if (names_own || !names_any) found.push_back(warning);
  }
  return found;
}

}  // namespace crope::study
