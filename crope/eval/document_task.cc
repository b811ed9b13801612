#include "crope/eval/document_task.h"

#include <utility>

#include "crope/eval/benchmark_files.h"

namespace crope::eval {
namespace {

Item read_item(BenchmarkRow document, const TaskRow& row) {
  Item item = row.read(document, row);
  if (row.kind == TaskKind::multiple_choice) item.target = item.continuation.value_or(std::to_string(item.gold));
  item.doc = std::move(document.fields);
  return item;
}

// The question and its answer, as they stand in a prompt.
Example worked_example(Item item) {
  if (item.choices.empty()) return {std::move(item.doc), std::move(item.context), std::move(item.target)};
  std::string& right = item.choices.at(static_cast<std::size_t>(item.gold));
  if (item.continuation) return {std::move(item.doc), std::move(right), std::move(*item.continuation)};
  return {std::move(item.doc), std::move(item.context), std::move(right)};
}

// What results.json records of a task, by the names of lm_eval's task files.
Json task_record(const TaskRow& row, const std::string& name) {
  Json config = {{"task", name}, {"dataset_path", row.dataset}};
  const auto add = [&](const char* key, std::string_view value) {
    if (!value.empty()) config[key] = value;
  };
  add("dataset_name", row.subset);
  config[std::string(row.split) + "_split"] = row.split;
  add("fewshot_split", row.examples);
  add("doc_to_text", row.doc_to_text);
  if (row.kind == TaskKind::generation) {
    config["generation_kwargs"] = {{"until", row.stop}, {"do_sample", false}, {"temperature", 0.0}};
    config["repeats"] = 1;
  }
  return config;
}

}  // namespace

std::string fill_template(std::string_view text, const BenchmarkRow& row) {
  std::string filled;
  for (std::size_t open; (open = text.find("{{")) != std::string_view::npos;) {
    const std::size_t close = text.find("}}", open);
    filled += text.substr(0, open);
    filled += string_field(row, std::string(text.substr(open + 2, close - open - 2)).c_str());
    text.remove_prefix(close + 2);
  }
  return filled += text;
}

Documents read_documents(const LoadRequest& request) {
  Documents documents;
  documents.questions = read_benchmark_rows(find_benchmark_files(request.data, request.row, Split::questions));
  if (request.options.num_fewshot > 0) {
    const auto files = find_benchmark_files(request.data, request.row, Split::examples);
    documents.examples = read_benchmark_rows(files);
    documents.examples_file = files.front().string();
  }
  return documents;
}

Task make_document_task(const TaskRow& row, const std::string& name, const std::string& description,
                        Documents documents, const TaskOptions& options) {
  Task task{.name = name,
            .alias = name,
            .kind = row.kind,
            .version = row.version,
            .num_fewshot = options.num_fewshot,
            .metrics = row.metrics,
            .headline = row.headlines.front(),
            .document_count = static_cast<std::int64_t>(documents.questions.size()),
            .stop = row.stop,
            .max_generated_tokens = row.max_generated_tokens,
            .config = task_record(row, name)};
  std::vector<Example> pool;
  for (BenchmarkRow& document : documents.examples) pool.push_back(worked_example(read_item(std::move(document), row)));
  FewShot few_shot(std::move(pool), options.num_fewshot, row.draw, documents.examples_file);
  for (BenchmarkRow& document : documents.questions) {
    Item item = read_item(std::move(document), row);  // also past the limit: damaged files are reported
    if (options.limit > 0 && static_cast<std::int64_t>(task.items.size()) == options.limit) continue;
    item.context = description + few_shot.next(item.doc) + item.context;
    task.items.push_back(std::move(item));
  }
  return task;
}

void load_documents(const LoadRequest& request, TaskList& list) {
  list.tasks.push_back(make_document_task(request.row, request.row.name, "", read_documents(request), request.options));
}

}  // namespace crope::eval
