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

Item perplexity_item(const std::string& text, const std::string& where) {
  const std::size_t valid = valid_utf8_prefix(text);
  if (valid != text.size()) throw Error(fmt::format("{}: not UTF-8 at byte {}", where, valid + 1));
  if (text.empty()) throw Error(fmt::format("{}: the text is empty", where));
  return {.doc = {{"text", text}}, .context = text, .target = text};
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
    throw Error(fmt::format("{}: found no text for perplexity", (data / "perplexity").string()),
                "give a text file, or put .txt or .jsonl files there");
  }
  std::sort(files.begin(), files.end());
  return files;
}

void load_perplexity(const LoadRequest& request, TaskList& list) {
  Task task{
      .name = request.row.name, .alias = request.row.name, .kind = request.row.kind, .metrics = request.row.metrics};
  Json names = Json::array();
  for (const fs::path& file : find_texts(request.data, request.texts)) {
    names.push_back(file.filename().string());
    if (is_json_lines(file)) {
      for (const BenchmarkRow& line : read_benchmark_rows({file})) {
        task.items.push_back(perplexity_item(string_field(line, "text"), line.where));
      }
    } else {
      task.items.push_back(perplexity_item(read_file(file), file.string()));
    }
  }
  task.document_count = static_cast<std::int64_t>(task.items.size());
  const std::int64_t limit = request.options.limit;
  if (limit > 0 && limit < task.document_count) task.items.resize(static_cast<std::size_t>(limit));
  task.config = {{"task", task.name}, {"texts", names}, {"doc_to_text", ""}, {"doc_to_target", "{{text}}"}};
  list.tasks.push_back(std::move(task));
}

}  // namespace crope::eval
