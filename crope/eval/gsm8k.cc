#include "crope/eval/gsm8k.h"

#include <utility>

#include "crope/eval/benchmark_files.h"
#include "crope/eval/benchmark_rows.h"
#include "crope/eval/few_shot.h"

namespace crope::eval {
namespace {

constexpr std::int64_t kMaxGeneratedTokens = 256;  // what lm_eval's hf model generates where a task names no number

Item gsm8k_item(BenchmarkRow row) {
  Item item;
  item.context = "Question: " + string_field(row, "question") + "\nAnswer:";
  item.target = string_field(row, "answer");
  item.doc = std::move(row.fields);
  return item;
}

FewShot gsm8k_few_shot(const std::filesystem::path& data, std::int64_t count) {
  std::vector<Example> pool;
  std::vector<std::filesystem::path> files;
  if (count > 0) {
    files = require_benchmark_files(data, "gsm8k", Split::examples);
    for (BenchmarkRow& row : read_benchmark_rows(files)) {
      Item item = gsm8k_item(std::move(row));
      pool.push_back({std::move(item.doc), std::move(item.context), std::move(item.target)});
    }
  }
  return FewShot(std::move(pool), count, Sampler::random, files.empty() ? "" : files.front().string());
}

}  // namespace

Task load_gsm8k(const std::filesystem::path& data, const TaskOptions& options) {
  Task task{.name = "gsm8k",
            .alias = "gsm8k",
            .output_type = OutputType::generate_until,
            .version = 3,
            .num_fewshot = options.num_fewshot,
            .metrics = {"exact_match"}};
  task.stop = {"Question:", "</s>", "<|im_end|>"};
  task.max_generated_tokens = kMaxGeneratedTokens;
  FewShot few_shot = gsm8k_few_shot(data, options.num_fewshot);
  for (BenchmarkRow& row : read_benchmark_rows(require_benchmark_files(data, "gsm8k", Split::evaluation))) {
    Item item = gsm8k_item(std::move(row));
    ++task.document_count;
    if (options.limit > 0 && static_cast<std::int64_t>(task.items.size()) == options.limit) continue;
    item.context = few_shot.next(item.doc) + item.context;
    task.items.push_back(std::move(item));
  }
  task.config = {{"task", "gsm8k"},
                 {"dataset_path", "openai/gsm8k"},
                 {"dataset_name", "main"},
                 {"training_split", "train"},
                 {"test_split", "test"},
                 {"fewshot_split", "train"},
                 {"doc_to_text", "Question: {{question}}\nAnswer:"},
                 {"doc_to_target", "{{answer}}"},
                 {"generation_kwargs", {{"until", task.stop}, {"do_sample", false}, {"temperature", 0.0}}},
                 {"repeats", 1}};
  return task;
}

}  // namespace crope::eval
