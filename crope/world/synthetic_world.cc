#include "crope/world/synthetic_world.h"

#include <fmt/format.h>

#include <string>

#include "crope/base/error.h"
#include "crope/base/file.h"
#include "crope/base/interrupt.h"
#include "crope/base/progress.h"
#include "crope/world/document.h"

namespace crope::world {
namespace fs = std::filesystem;
namespace {

constexpr std::size_t kWriteBytes = std::size_t{1} << 20;

// Lines collected into large writes.
class LineFile {
 public:
  explicit LineFile(const fs::path& path) : file_(path) {}

  void add(const Json& line) {
    buffer_ += line.dump();
    buffer_ += '\n';
    if (buffer_.size() >= kWriteBytes) flush();
  }

  void commit() {
    flush();
    file_.commit();
  }

 private:
  void flush() {
    file_.write(buffer_);
    buffer_.clear();
  }

  AtomicFile file_;
  std::string buffer_;
};

void check(const WorldOptions& options) {
  const std::pair<const char*, std::int64_t> counts[] = {{"documents", options.documents},
                                                         {"hellaswag-items", options.benchmarks.hellaswag_items},
                                                         {"mmlu-items", options.benchmarks.mmlu_items},
                                                         {"gsm8k-items", options.benchmarks.gsm8k_items}};
  for (const auto& [name, count] : counts) {
    if (count < 0) throw UsageError(fmt::format("{} is {}, expected 0 or more", name, count));
  }
}

void write_lines(const fs::path& path, const std::vector<Json>& lines) {
  LineFile file(path);
  for (const Json& line : lines) file.add(line);
  file.commit();
}

// Returns the bytes of all texts.
std::uint64_t write_documents(const WorldOptions& options, const fs::path& path, Log& log) {
  LineFile file(path);
  const auto count = static_cast<std::uint64_t>(options.documents);
  Progress progress(log, {.label = "synth", .unit = "documents", .total = count});
  std::uint64_t bytes = 0;
  for (std::uint64_t i = 0; i < count; ++i) {
    std::string text = make_document(options.seed, i);
    bytes += text.size();
    file.add({{"text", std::move(text)}});
    throw_if_interrupted();
    progress.update(i + 1);
  }
  file.commit();
  return bytes;
}

}  // namespace

Json write_synthetic_world(const WorldOptions& options, const fs::path& folder, Log& log) {
  check(options);
  AtomicDirectory directory(folder);
  const fs::path eval = directory.working_path() / "eval";
  for (const char* name : {"hellaswag", "mmlu", "gsm8k"}) fs::create_directories(eval / name);

  const Benchmarks benchmarks = make_benchmarks(options.seed, options.benchmarks);
  write_lines(eval / "hellaswag" / "hellaswag_val.jsonl", benchmarks.hellaswag);
  write_lines(eval / "mmlu" / "mmlu_dev.jsonl", benchmarks.mmlu_dev);
  write_lines(eval / "mmlu" / "mmlu_test.jsonl", benchmarks.mmlu_test);
  write_lines(eval / "gsm8k" / "train.jsonl", benchmarks.gsm8k_train);
  write_lines(eval / "gsm8k" / "test.jsonl", benchmarks.gsm8k_test);
  const std::uint64_t bytes = write_documents(options, directory.working_path() / "train.jsonl", log);

  const Json summary = {{"version", kWorldVersion},
                        {"seed", options.seed},
                        {"documents", options.documents},
                        {"bytes", bytes},
                        {"hellaswag_items", benchmarks.hellaswag.size()},
                        {"mmlu_dev_items", benchmarks.mmlu_dev.size()},
                        {"mmlu_test_items", benchmarks.mmlu_test.size()},
                        {"gsm8k_train_items", benchmarks.gsm8k_train.size()},
                        {"gsm8k_test_items", benchmarks.gsm8k_test.size()}};
  write_json(directory.working_path() / "world.json", summary);
  directory.commit();
  return summary;
}

}  // namespace crope::world
