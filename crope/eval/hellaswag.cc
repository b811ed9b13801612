#include "crope/eval/hellaswag.h"

#include <utility>

#include "crope/eval/benchmark_files.h"
#include "crope/eval/benchmark_rows.h"
#include "crope/eval/few_shot.h"
#include "crope/eval/python_text.h"

namespace crope::eval {
namespace {

// Removes "[...]" up to the first bracket that closes, where both stand in one line.
std::string remove_bracketed(std::string_view text) {
  std::string out;
  while (true) {
    const std::size_t open = text.find('[');
    const std::size_t close = open == std::string_view::npos ? open : text.find_first_of("]\n", open + 1);
    if (close == std::string_view::npos) return out += text;
    if (text[close] == '\n') {
      // No bracket before the end of this line closes the one opened here, nor any opened after it.
      out += text.substr(0, close + 1);
    } else {
      out += text.substr(0, open);
    }
    text.remove_prefix(close + 1);
  }
}

Item hellaswag_item(BenchmarkRow row) {
  const std::string context = string_field(row, "ctx_a") + " " + capitalize(string_field(row, "ctx_b"));
  Item item;
  item.context = clean_hellaswag(string_field(row, "activity_label") + ": " + context);
  for (const std::string& ending : strings_field(row, "endings")) item.choices.push_back(clean_hellaswag(ending));
  item.gold = index_field(row, "label", item.choices.size());
  item.target = std::to_string(item.gold);
  item.doc = std::move(row.fields);
  item.doc["query"] = item.context;
  item.doc["choices"] = item.choices;
  item.doc["gold"] = item.gold;
  return item;
}

std::vector<Item> read_items(const std::vector<std::filesystem::path>& files) {
  std::vector<Item> items;
  for (BenchmarkRow& row : read_benchmark_rows(files)) items.push_back(hellaswag_item(std::move(row)));
  return items;
}

FewShot hellaswag_few_shot(const std::filesystem::path& data, std::int64_t count) {
  std::vector<Example> pool;
  std::vector<std::filesystem::path> files;
  if (count > 0) {
    files = require_benchmark_files(data, "hellaswag", Split::examples);
    for (Item& item : read_items(files)) {
      pool.push_back({std::move(item.doc), item.context, item.choices[static_cast<std::size_t>(item.gold)]});
    }
  }
  return FewShot(std::move(pool), count, Sampler::random_but_self, files.empty() ? "" : files.front().string());
}

}  // namespace

std::string clean_hellaswag(std::string_view text) {
  const std::string titled = replace_all(strip(text), " [title]", ". ");
  return replace_all(remove_bracketed(titled), "  ", " ");
}

Task load_hellaswag(const std::filesystem::path& data, const TaskOptions& options) {
  Task task{.name = "hellaswag", .alias = "hellaswag", .metrics = {"acc", "acc_norm"}};
  task.num_fewshot = options.num_fewshot;
  task.items = read_items(require_benchmark_files(data, "hellaswag", Split::evaluation));
  task.document_count = static_cast<std::int64_t>(task.items.size());
  if (options.limit > 0 && options.limit < task.document_count) {
    task.items.resize(static_cast<std::size_t>(options.limit));
  }
  FewShot few_shot = hellaswag_few_shot(data, options.num_fewshot);
  for (Item& item : task.items) item.context = few_shot.next(item.doc) + item.context;
  task.config = {{"task", "hellaswag"},        {"dataset_path", "Rowan/hellaswag"},
                 {"training_split", "train"},  {"validation_split", "validation"},
                 {"doc_to_text", "{{query}}"}, {"doc_to_target", "{{label}}"},
                 {"doc_to_choice", "choices"}};
  return task;
}

}  // namespace crope::eval
