#include "crope/eval/mmlu.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <iterator>
#include <map>
#include <sstream>
#include <utility>

#include "crope/base/error.h"
#include "crope/base/nearest_name.h"
#include "crope/eval/document_task.h"
#include "crope/eval/python_text.h"

namespace crope::eval {
namespace {

struct SubjectGroup {
  const char* name;
  const char* subjects;  // separated by spaces
};

// In lm_eval's order.
constexpr SubjectGroup kGroups[] = {
    {"stem",
     "abstract_algebra anatomy astronomy college_biology college_chemistry college_computer_science "
     "college_mathematics college_physics computer_security conceptual_physics electrical_engineering "
     "elementary_mathematics high_school_biology high_school_chemistry high_school_computer_science "
     "high_school_mathematics high_school_physics high_school_statistics machine_learning"},
    {"other",
     "business_ethics clinical_knowledge college_medicine global_facts human_aging management marketing "
     "medical_genetics miscellaneous nutrition professional_accounting professional_medicine virology"},
    {"social_sciences",
     "econometrics high_school_geography high_school_government_and_politics high_school_macroeconomics "
     "high_school_microeconomics high_school_psychology human_sexuality professional_psychology "
     "public_relations security_studies sociology us_foreign_policy"},
    {"humanities",
     "formal_logic high_school_european_history high_school_us_history high_school_world_history "
     "international_law jurisprudence logical_fallacies moral_disputes moral_scenarios philosophy prehistory "
     "professional_law world_religions"}};

constexpr const char* kLetters[] = {"A", "B", "C", "D"};
constexpr const char* kMmlu = "mmlu";

std::string task_name(const std::string& part) {
  return fmt::format("{}_{}", kMmlu, part);
}

std::vector<std::string> subjects_of(const SubjectGroup& group) {
  std::istringstream words(group.subjects);
  return std::vector<std::string>(std::istream_iterator<std::string>(words), std::istream_iterator<std::string>());
}

// Throws Error on a subject that MMLU does not have.
std::map<std::string, std::vector<BenchmarkRow>> by_subject(std::vector<BenchmarkRow> documents) {
  const std::vector<std::string> known = mmlu_subjects(kMmlu);
  std::map<std::string, std::vector<BenchmarkRow>> parts;
  for (BenchmarkRow& document : documents) {
    const std::string subject = string_field(document, "subject");
    if (!parts.contains(subject) && std::ranges::find(known, subject) == known.end()) {
      throw Error(fmt::format("{}: the field 'subject' is '{}', no subject of MMLU", document.where, subject),
                  suggest(subject, known));
    }
    parts[subject].push_back(std::move(document));
  }
  return parts;
}

Task subject_task(const TaskRow& row, const std::string& subject, Documents documents, const TaskOptions& options) {
  const std::string description = fmt::format(
      "The following are multiple choice questions (with answers) about {}.\n\n", replace_all(subject, "_", " "));
  Task task = make_document_task(row, task_name(subject), description, std::move(documents), options);
  task.alias = subject;
  task.config["task_alias"] = subject;
  task.config["dataset_name"] = subject;
  task.config["description"] = description;
  task.config["fewshot_config"] = {{"sampler", "first_n"}};
  return task;
}

// The groups that the names ask for, each with those of its subjects that were loaded.
void add_groups(const std::vector<std::string>& names, const std::vector<std::string>& loaded, TaskList& list) {
  const auto has = [](const std::vector<std::string>& all, const std::string& one) {
    return std::ranges::find(all, one) != all.end();
  };
  const bool whole = has(names, kMmlu);
  TaskGroup all{.name = kMmlu, .alias = kMmlu};
  for (const SubjectGroup& each : kGroups) {
    TaskGroup group{.name = task_name(each.name), .alias = each.name};
    if (!whole && !has(names, group.name)) continue;
    for (const std::string& subject : subjects_of(each)) {
      if (has(loaded, subject)) group.children.push_back(task_name(subject));
    }
    if (group.children.empty()) continue;
    all.children.push_back(group.name);
    list.groups.push_back(std::move(group));
  }
  if (whole) list.groups.push_back(std::move(all));
}

}  // namespace

std::vector<std::string> mmlu_family() {
  std::vector<std::string> names;
  for (const SubjectGroup& group : kGroups) names.push_back(task_name(group.name));
  for (const std::string& subject : mmlu_subjects(kMmlu)) names.push_back(task_name(subject));
  return names;
}

std::vector<std::string> mmlu_subjects(std::string_view name) {
  std::vector<std::string> subjects;
  for (const SubjectGroup& group : kGroups) {
    const bool all = name == kMmlu || name == task_name(group.name);
    for (const std::string& subject : subjects_of(group)) {
      if (all || name == task_name(subject)) subjects.emplace_back(subject);
    }
  }
  return subjects;
}

Item read_mmlu(BenchmarkRow& document, const TaskRow&) {
  const std::vector<std::string> choices = strings_field(document, "choices");
  if (choices.size() != std::size(kLetters)) {
    throw Error(fmt::format("{}: the field 'choices' has {} choices, expected {}", document.where, choices.size(),
                            std::size(kLetters)));
  }
  Item item{.context = std::string(strip(string_field(document, "question")))};
  for (std::size_t i = 0; i < choices.size(); ++i) {
    item.context += fmt::format("\n{}. {}", kLetters[i], choices[i]);
    item.choices.emplace_back(kLetters[i]);
  }
  item.context += "\nAnswer:";
  item.gold = index_field(document, "answer", choices.size());
  return item;
}

void load_mmlu(const LoadRequest& request, TaskList& list) {
  Documents documents = read_documents(request);
  auto questions = by_subject(std::move(documents.questions));
  auto examples = by_subject(std::move(documents.examples));
  std::vector<std::string> wanted, loaded;
  for (const std::string& name : request.names) {
    for (const std::string& subject : mmlu_subjects(name)) {
      if (std::ranges::find(wanted, subject) == wanted.end()) wanted.push_back(subject);
    }
  }
  for (const std::string& subject : wanted) {
    if (!questions.contains(subject)) continue;
    loaded.push_back(subject);
    list.tasks.push_back(
        subject_task(request.row, subject,
                     {.questions = std::move(questions[subject]),
                      .examples = std::move(examples[subject]),
                      .examples_file = fmt::format("{}, subject {}", documents.examples_file, subject)},
                     request.options));
  }
  if (loaded.empty()) {
    throw Error(fmt::format("{}: no question of {}", request.data.string(), fmt::join(wanted, ", ")));
  }
  if (loaded.size() < wanted.size()) {
    request.log.warn(fmt::format("mmlu: the files have {} of the {} subjects", loaded.size(), wanted.size()));
  }
  add_groups(request.names, loaded, list);
}

}  // namespace crope::eval
