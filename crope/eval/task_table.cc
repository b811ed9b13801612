#include "crope/eval/task_table.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <utility>

#include "crope/base/error.h"
#include "crope/base/nearest_name.h"
#include "crope/eval/document_task.h"
#include "crope/eval/hellaswag.h"
#include "crope/eval/mmlu.h"
#include "crope/eval/perplexity.h"
#include "crope/eval/python_text.h"

namespace crope::eval {
namespace {

using enum MetricId;

constexpr std::int64_t kMaxGeneratedTokens = 256;  // lm_eval's default for its hf model

// Choices with labels, and the label of the right one. The publishers' files have {"stem", "choices"} as the question;
// Hugging Face's have the stem in a field of its own.
Item read_labelled(BenchmarkRow& document, const TaskRow& row, const char* stem_field) {
  if (const auto found = document.fields.find("question"); found != document.fields.end() && found->is_object()) {
    const Json question = *found;
    Json choices = {{"text", Json::array()}, {"label", Json::array()}};
    for (const Json& choice : question.value("choices", Json::array())) {
      for (const char* key : {"text", "label"})
        choices[key].push_back(choice.is_object() ? choice.value(key, Json()) : Json());
    }
    document.fields = {{"id", document.fields.value("id", Json())},
                       {stem_field, question.value("stem", Json())},
                       {"choices", choices},
                       {"answerKey", document.fields.value("answerKey", Json())}};
  }
  const BenchmarkRow choices = object_field(document, "choices");
  Item item{.context = fill_template(row.doc_to_text, document), .choices = strings_field(choices, "text")};
  const std::vector<std::string> labels = strings_field(choices, "label");
  const std::string_view right = strip(string_field(document, "answerKey"));
  const auto found = std::ranges::find(labels, right);
  if (labels.size() != item.choices.size() || found == labels.end()) {
    throw Error(fmt::format("{}: the field 'answerKey' is '{}', expected the label of one of {} choices: {}",
                            document.where, right, item.choices.size(), fmt::join(labels, ", ")));
  }
  item.gold = found - labels.begin();
  return item;
}

Item read_arc(BenchmarkRow& document, const TaskRow& row) {
  return read_labelled(document, row, "question");
}

Item read_openbookqa(BenchmarkRow& document, const TaskRow& row) {
  return read_labelled(document, row, "question_stem");
}

Item read_piqa(BenchmarkRow& document, const TaskRow& row) {
  return {.context = fill_template(row.doc_to_text, document),
          .choices = {string_field(document, "sol1"), string_field(document, "sol2")},
          .gold = index_field(document, "label", 2)};
}

// SuperGLUE's files have the answer as 'label', BoolQ's own as 'answer'.
Item read_boolq(BenchmarkRow& document, const TaskRow& row) {
  return {.context = fill_template(row.doc_to_text, document),
          .choices = {"no", "yes"},
          .gold = index_field(document, document.fields.contains("label") ? "label" : "answer", 2)};
}

// Choices end the context, and the rest of the sentence is what is scored after each.
Item read_winogrande(BenchmarkRow& document, const TaskRow&) {
  const std::string& sentence = string_field(document, "sentence");
  const std::size_t blank = sentence.find('_');
  if (blank == std::string::npos) throw Error(fmt::format("{}: the field 'sentence' has no '_'", document.where));
  Item item{.gold = index_field(document, "answer", 2, 1),
            .continuation = std::string(strip(std::string_view(sentence).substr(blank + 1)))};
  for (const char* option : {"option1", "option2"}) {
    item.choices.push_back(sentence.substr(0, blank) + string_field(document, option));
  }
  return item;
}

Item read_lambada(BenchmarkRow& document, const TaskRow&) {
  const std::string& text = string_field(document, "text");
  const std::size_t space = text.rfind(' ');
  if (space == std::string::npos) return {.target = " " + text};
  return {.context = text.substr(0, space), .target = text.substr(space)};
}

Item read_gsm8k(BenchmarkRow& document, const TaskRow& row) {
  return {.context = fill_template(row.doc_to_text, document), .target = string_field(document, "answer")};
}

TaskRow arc(const char* name, const char* title, const char* subset, MetricId headline,
            std::vector<const char*> question_files, std::vector<const char*> example_files) {
  return {.name = name,
          .title = title,
          .metrics = {acc, acc_norm},
          .headlines = {{headline}},
          .chance = 0.25,
          .dataset = "allenai/ai2_arc",
          .subset = subset,
          .question_files = std::move(question_files),
          .example_files = std::move(example_files),
          .doc_to_text = "Question: {{question}}\nAnswer:",
          .read = read_arc};
}

}  // namespace

std::span<const TaskRow> task_table() {
  static const std::vector<TaskRow> rows = {
      {.name = "hellaswag",
       .title = "HellaSwag",
       .metrics = {acc, acc_norm},
       .headlines = {{acc_norm}},
       .chance = 0.25,
       .dataset = "Rowan/hellaswag",
       .split = kValidation,
       .draw = ExampleDraw::random_but_self,
       .doc_to_text = "{{query}}",
       .read = read_hellaswag},
      {.name = "mmlu",
       .title = "MMLU",
       .metrics = {acc},
       .headlines = {{acc}},
       .chance = 0.25,
       .dataset = "cais/mmlu",
       .subset = "all",
       .examples = "dev",
       .draw = ExampleDraw::first,
       .question_files = {"all/test-*.parquet", "*/test-*.parquet"},
       .example_files = {"all/dev-*.parquet", "*/dev-*.parquet"},
       .doc_to_text = "{{question.strip()}}\nA. {{choices[0]}}\nB. {{choices[1]}}\nC. {{choices[2]}}\nD. "
                      "{{choices[3]}}\nAnswer:",
       .read = read_mmlu,
       .load = load_mmlu,
       .family = mmlu_family},
      {.name = "gsm8k",
       .title = "GSM8K",
       .kind = TaskKind::generation,
       .version = 3,
       .metrics = {exact_match},
       .headlines = {{exact_match, Filter::flexible_extract}},
       .dataset = "openai/gsm8k",
       .subset = "main",
       .doc_to_text = "Question: {{question}}\nAnswer:",
       .stop = {"Question:", "</s>", "<|im_end|>"},
       .max_generated_tokens = kMaxGeneratedTokens,
       .read = read_gsm8k},
      arc("arc_easy", "ARC-Easy", "ARC-Easy", acc, {"ARC-Easy-Test.jsonl", "ARC-Easy/ARC-Easy-Test.jsonl"},
          {"ARC-Easy-Train.jsonl", "ARC-Easy/ARC-Easy-Train.jsonl"}),
      arc("arc_challenge", "ARC-Challenge", "ARC-Challenge", acc_norm,
          {"ARC-Challenge-Test.jsonl", "ARC-Challenge/ARC-Challenge-Test.jsonl"},
          {"ARC-Challenge-Train.jsonl", "ARC-Challenge/ARC-Challenge-Train.jsonl"}),
      {.name = "piqa",
       .title = "PIQA",
       .metrics = {acc, acc_norm},
       .headlines = {{acc}},
       .chance = 0.5,
       .dataset = "baber/piqa",
       .split = kValidation,
       .draw = ExampleDraw::random_but_self,
       .doc_to_text = "Question: {{goal}}\nAnswer:",
       .read = read_piqa},
      {.name = "winogrande",
       .title = "WinoGrande",
       .metrics = {acc},
       .headlines = {{acc}},
       .chance = 0.5,
       .dataset = "allenai/winogrande",
       .subset = "winogrande_xl",
       .split = kValidation,
       .draw = ExampleDraw::random_but_self,
       .example_files = {"train_xl.jsonl"},
       .read = read_winogrande},
      {.name = "openbookqa",
       .title = "OpenBookQA",
       .metrics = {acc, acc_norm},
       .headlines = {{acc_norm}},
       .chance = 0.25,
       .dataset = "allenai/openbookqa",
       .subset = "main",
       .question_files = {"Data/Main/test.jsonl", "OpenBookQA-V1-Sep2018/Data/Main/test.jsonl"},
       .example_files = {"Data/Main/train.jsonl", "OpenBookQA-V1-Sep2018/Data/Main/train.jsonl"},
       .doc_to_text = "{{question_stem}}",
       .read = read_openbookqa},
      {.name = "boolq",
       .title = "BoolQ",
       .version = 2,
       .metrics = {acc},
       .headlines = {{acc}},
       .chance = 0.5,
       .dataset = "aps/super_glue",
       .subset = "boolq",
       .split = kValidation,
       .draw = ExampleDraw::random_but_self,
       .doc_to_text = "{{passage}}\nQuestion: {{question}}?\nAnswer:",
       .read = read_boolq},
      {.name = "lambada_openai",
       .title = "LAMBADA (OpenAI)",
       .kind = TaskKind::last_word,
       .metrics = {perplexity, acc},
       .headlines = {{acc}, {perplexity}},
       .dataset = "EleutherAI/lambada_openai",
       .subset = "default",
       .examples = kTest,
       .question_files = {"lambada_test.jsonl", "lambada_test_en.jsonl", "data/lambada_test_en.jsonl"},
       .example_files = {"lambada_test.jsonl", "lambada_test_en.jsonl", "data/lambada_test_en.jsonl"},
       .doc_to_text = "{{text.split(' ')[:-1]|join(' ')}}",
       .read = read_lambada},
      {.name = "perplexity",
       .title = "Perplexity",
       .kind = TaskKind::rolling_likelihood,
       .metrics = {word_perplexity, byte_perplexity, bits_per_byte},
       .headlines = {{word_perplexity}, {byte_perplexity}, {bits_per_byte}},
       .examples = "",
       .question_files = {"perplexity/*.txt", "perplexity/*.jsonl"},
       .load = load_perplexity},
  };
  return rows;
}

const TaskRow* find_task(std::string_view name) {
  for (const TaskRow& row : task_table()) {
    if (row.name == name) return &row;
    if (row.family == nullptr || !name.starts_with(row.name)) continue;
    const std::vector<std::string> family = row.family();
    if (std::ranges::find(family, name) != family.end()) return &row;
  }
  return nullptr;
}

const TaskRow& require_task(std::string_view name) {
  if (const TaskRow* row = find_task(name)) return *row;
  std::vector<std::string> rows, all;
  for (const TaskRow& row : task_table()) rows.emplace_back(row.name);
  all = rows;
  for (const TaskRow& row : task_table()) {
    if (row.family != nullptr) std::ranges::copy(row.family(), std::back_inserter(all));
  }
  const std::string nearest = nearest_name(name, all);
  throw UsageError(fmt::format("there is no task '{}'", name),
                   nearest.empty() ? suggest(name, rows) : fmt::format("did you mean '{}'?", nearest));
}

std::string task_names() {
  std::vector<std::string_view> names;
  for (const TaskRow& row : task_table()) names.emplace_back(row.name);
  return fmt::format("{}", fmt::join(names, ", "));
}

}  // namespace crope::eval
