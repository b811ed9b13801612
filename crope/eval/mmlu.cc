#include "crope/eval/mmlu.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <map>
#include <utility>

#include "crope/base/error.h"
#include "crope/base/nearest_name.h"
#include "crope/eval/benchmark_files.h"
#include "crope/eval/benchmark_rows.h"
#include "crope/eval/few_shot.h"
#include "crope/eval/python_text.h"

namespace crope::eval {
namespace {

constexpr const char* kStem[] = {
    "abstract_algebra",
    "anatomy",
    "astronomy",
    "college_biology",
    "college_chemistry",
    "college_computer_science",
    "college_mathematics",
    "college_physics",
    "computer_security",
    "conceptual_physics",
    "electrical_engineering",
    "elementary_mathematics",
    "high_school_biology",
    "high_school_chemistry",
    "high_school_computer_science",
    "high_school_mathematics",
    "high_school_physics",
    "high_school_statistics",
    "machine_learning",
};
constexpr const char* kOther[] = {
    "business_ethics",
    "clinical_knowledge",
    "college_medicine",
    "global_facts",
    "human_aging",
    "management",
    "marketing",
    "medical_genetics",
    "miscellaneous",
    "nutrition",
    "professional_accounting",
    "professional_medicine",
    "virology",
};
constexpr const char* kSocialSciences[] = {
    "econometrics",
    "high_school_geography",
    "high_school_government_and_politics",
    "high_school_macroeconomics",
    "high_school_microeconomics",
    "high_school_psychology",
    "human_sexuality",
    "professional_psychology",
    "public_relations",
    "security_studies",
    "sociology",
    "us_foreign_policy",
};
constexpr const char* kHumanities[] = {
    "formal_logic",
    "high_school_european_history",
    "high_school_us_history",
    "high_school_world_history",
    "international_law",
    "jurisprudence",
    "logical_fallacies",
    "moral_disputes",
    "moral_scenarios",
    "philosophy",
    "prehistory",
    "professional_law",
    "world_religions",
};
constexpr MmluGroup kGroups[] = {
    {"stem", kStem}, {"other", kOther}, {"social_sciences", kSocialSciences}, {"humanities", kHumanities}};

constexpr const char* kLetters[] = {"A", "B", "C", "D"};

std::string spaced(std::string_view subject) {
  return replace_all(subject, "_", " ");
}

// Rows by subject. Throws Error on a subject that MMLU does not have.
using RowsBySubject = std::map<std::string, std::vector<BenchmarkRow>>;

RowsBySubject read_by_subject(const std::vector<std::filesystem::path>& files) {
  const std::vector<std::string> known = mmlu_subjects("mmlu");
  RowsBySubject rows;
  for (BenchmarkRow& row : read_benchmark_rows(files)) {
    const std::string subject = string_field(row, "subject");
    if (!rows.contains(subject) && std::find(known.begin(), known.end(), subject) == known.end()) {
      throw Error(fmt::format("{}: the field 'subject' is '{}', no subject of MMLU", row.where, subject),
                  suggest(subject, known));
    }
    rows[subject].push_back(std::move(row));
  }
  return rows;
}

Item mmlu_item(BenchmarkRow row) {
  const std::vector<std::string> choices = strings_field(row, "choices");
  if (choices.size() != std::size(kLetters)) {
    throw Error(fmt::format("{}: the field 'choices' has {} choices, expected {}", row.where, choices.size(),
                            std::size(kLetters)));
  }
  Item item;
  item.context = strip(string_field(row, "question"));
  for (std::size_t i = 0; i < choices.size(); ++i) {
    item.context += fmt::format("\n{}. {}", kLetters[i], choices[i]);
    item.choices.emplace_back(kLetters[i]);
  }
  item.context += "\nAnswer:";
  item.gold = index_field(row, "answer", choices.size());
  item.target = std::to_string(item.gold);
  item.doc = std::move(row.fields);
  return item;
}

FewShot mmlu_few_shot(std::vector<BenchmarkRow> rows, std::int64_t count, const std::string& where) {
  std::vector<Example> pool;
  for (BenchmarkRow& row : rows) {
    Item item = mmlu_item(std::move(row));
    pool.push_back({std::move(item.doc), item.context, item.choices[static_cast<std::size_t>(item.gold)]});
  }
  return FewShot(std::move(pool), count, Sampler::first, where);
}

Task make_task(const std::string& subject, std::vector<BenchmarkRow> rows, FewShot few_shot,
               const TaskOptions& options) {
  Task task{.name = "mmlu_" + subject, .alias = subject, .metrics = {"acc"}};
  task.num_fewshot = options.num_fewshot;
  task.document_count = static_cast<std::int64_t>(rows.size());
  const std::string description =
      fmt::format("The following are multiple choice questions (with answers) about {}.\n\n", spaced(subject));
  for (BenchmarkRow& row : rows) {
    Item item = mmlu_item(std::move(row));
    if (options.limit > 0 && static_cast<std::int64_t>(task.items.size()) == options.limit) continue;
    item.context = description + few_shot.next(item.doc) + item.context;
    task.items.push_back(std::move(item));
  }
  task.config = {{"task", task.name},
                 {"task_alias", subject},
                 {"dataset_path", "cais/mmlu"},
                 {"dataset_name", subject},
                 {"test_split", "test"},
                 {"fewshot_split", "dev"},
                 {"doc_to_text",
                  "{{question.strip()}}\nA. {{choices[0]}}\nB. {{choices[1]}}\nC. {{choices[2]}}\nD. "
                  "{{choices[3]}}\nAnswer:"},
                 {"doc_to_target", "answer"},
                 {"doc_to_choice", {"A", "B", "C", "D"}},
                 {"description", description},
                 {"fewshot_config", {{"sampler", "first_n"}}}};
  return task;
}

}  // namespace

std::span<const MmluGroup> mmlu_groups() {
  return kGroups;
}

std::vector<std::string> mmlu_task_names() {
  std::vector<std::string> names = {"mmlu"};
  for (const MmluGroup& group : kGroups) names.push_back(fmt::format("mmlu_{}", group.name));
  for (const std::string& subject : mmlu_subjects("mmlu")) names.push_back("mmlu_" + subject);
  return names;
}

std::vector<std::string> mmlu_subjects(std::string_view task_name) {
  std::vector<std::string> subjects;
  for (const MmluGroup& group : kGroups) {
    const bool all = task_name == "mmlu" || task_name == fmt::format("mmlu_{}", group.name);
    for (const char* subject : group.subjects) {
      if (all || task_name == fmt::format("mmlu_{}", subject)) subjects.emplace_back(subject);
    }
  }
  return subjects;
}

std::vector<Task> load_mmlu(const std::filesystem::path& data, const std::vector<std::string>& subjects,
                            const TaskOptions& options) {
  const auto files = require_benchmark_files(data, "mmlu", Split::evaluation);
  RowsBySubject rows = read_by_subject(files);
  RowsBySubject examples;
  std::string examples_file;
  if (options.num_fewshot > 0) {
    const auto example_files = require_benchmark_files(data, "mmlu", Split::examples);
    examples = read_by_subject(example_files);
    examples_file = example_files.front().string();
  }
  std::vector<Task> tasks;
  for (const std::string& subject : subjects) {
    if (!rows.contains(subject)) continue;
    const std::string where = fmt::format("{}, subject {}", examples_file, subject);
    FewShot few_shot = mmlu_few_shot(std::move(examples[subject]), options.num_fewshot, where);
    tasks.push_back(make_task(subject, std::move(rows[subject]), std::move(few_shot), options));
  }
  if (tasks.empty()) {
    throw Error(fmt::format("{}: no question of {}", files.front().string(), fmt::join(subjects, ", ")));
  }
  return tasks;
}

}  // namespace crope::eval
