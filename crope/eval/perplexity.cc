#include "crope/eval/perplexity.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "crope/base/error.h"
#include "crope/base/file.h"
#include "crope/base/utf8.h"
#include "crope/eval/benchmark_rows.h"

namespace crope::eval {
namespace fs = std::filesystem;
namespace {

bool is_json_lines(const fs::path& file) {
  const std::string name = file.filename().string();
  return name.find(".jsonl") != std::string::npos || name.find(".ndjson") != std::string::npos;
}

Item perplexity_item(Json doc, const std::string& text, const std::string& where) {
  const std::size_t valid = valid_utf8_prefix(text);
  if (valid != text.size()) throw Error(fmt::format("{}: not UTF-8 at byte {}", where, valid + 1));
  if (text.empty()) throw Error(fmt::format("{}: the text is empty", where));
  Item item;
  item.doc = std::move(doc);
  item.context = text;
  item.target = text;
  return item;
}

}  // namespace

std::vector<fs::path> find_texts(const fs::path& data, std::span<const fs::path> given) {
  if (!given.empty()) return {given.begin(), given.end()};
  if (fs::is_regular_file(data)) return {data};
  std::vector<fs::path> files;
  std::error_code error;
  for (const auto& entry : fs::directory_iterator(data / "perplexity", error)) {
    const fs::path& path = entry.path();
    if (entry.is_regular_file() && (path.extension() == ".txt" || is_json_lines(path))) files.push_back(path);
  }
  if (files.empty()) {
    throw Error(fmt::format("{}: there is no text to measure the perplexity of", (data / "perplexity").string()),
                "give a text file with --text FILE, or put .txt or .jsonl files there");
  }
  std::sort(files.begin(), files.end());
  return files;
}

Task load_perplexity(std::span<const fs::path> files, const TaskOptions& options) {
  Task task{.name = "perplexity",
            .alias = "perplexity",
            .output_type = OutputType::loglikelihood_rolling,
            .metrics = {"word_perplexity", "byte_perplexity", "bits_per_byte"}};
  Json names = Json::array();
  for (const fs::path& file : files) {
    names.push_back(file.filename().string());
    if (is_json_lines(file)) {
      for (const BenchmarkRow& row : read_benchmark_rows(std::span(&file, 1))) {
        const std::string& text = string_field(row, "text");
        task.items.push_back(perplexity_item({{"text", text}}, text, row.where));
      }
    } else {
      const std::string text = read_file(file);
      task.items.push_back(perplexity_item({{"text", text}}, text, file.string()));
    }
  }
  task.document_count = static_cast<std::int64_t>(task.items.size());
  if (options.limit > 0 && options.limit < task.document_count) {
    task.items.resize(static_cast<std::size_t>(options.limit));
  }
  task.config = {{"task", "perplexity"}, {"texts", names}, {"doc_to_text", ""}, {"doc_to_target", "{{text}}"}};
  return task;
}

}  // namespace crope::eval
