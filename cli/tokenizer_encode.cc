#include "cli/tokenizer_encode.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cstdio>
#include <ctime>
#include <iostream>
#include <iterator>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "cli/token_ids.h"
#include "cli/tokenizer_path.h"
#include "crope/base/error.h"
#include "crope/base/json.h"
#include "crope/base/log.h"
#include "crope/base/progress.h"
#include "crope/base/statistics.h"
#include "crope/base/stopwatch.h"
#include "crope/base/threads.h"
#include "crope/formats/json_line.h"
#include "crope/text/tokenizer.h"

namespace crope::cli {
namespace {

// Lines of this many bytes are encoded together, which is enough work for several threads.
constexpr std::size_t kBatchBytes = std::size_t{8} << 20;

// The processor time of all threads of this process.
double processor_seconds() {
  timespec time{};
  ::clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time);
  return static_cast<double>(time.tv_sec) + 1e-9 * static_cast<double>(time.tv_nsec);
}

std::string read_standard_input() {
  std::string text;
  std::vector<char> block(std::size_t{1} << 20);
  while (const std::size_t got = std::fread(block.data(), 1, block.size(), stdin)) text.append(block.data(), got);
  if (std::ferror(stdin) != 0) throw Error("cannot read standard input");
  return text;
}

void write_standard_output(std::string_view text) {
  if (std::fwrite(text.data(), 1, text.size(), stdout) != text.size() || std::fflush(stdout) != 0) {
    throw Error("cannot write standard output");
  }
}

void append_ids(std::string& line, const std::vector<std::int32_t>& ids) {
  line += '[';
  for (std::size_t i = 0; i < ids.size(); ++i) {
    if (i > 0) line += ',';
    const fmt::format_int number(ids[i]);
    line.append(number.data(), number.size());
  }
  line += "]\n";
}

struct EncodeFlags {
  std::string tokenizer;
  std::string jsonl;
  int threads = 0;
  int bench = 0;
  bool special = false;
  bool json = false;
};

std::string text_of_line(std::string_view line, const std::string& field, std::size_t line_number) {
  std::string text;
  if (formats::find_json_string(line, field, text).kind == formats::JsonFieldKind::string) return text;
  throw Error(
      fmt::format("standard input, line {}: expected a JSON object with a text in the field '{}'", line_number, field));
}

// The next lines of standard input, about kBatchBytes of them, as texts. Empty at the end.
std::vector<std::string> read_batch(const std::string& field, std::size_t& line_number) {
  std::vector<std::string> texts;
  std::string line;
  for (std::size_t bytes = 0; bytes < kBatchBytes && std::getline(std::cin, line); bytes += line.size()) {
    texts.push_back(text_of_line(line, field, ++line_number));
  }
  if (std::cin.bad() || std::ferror(stdin) != 0) throw Error("cannot read standard input");
  return texts;
}

void encode_lines(const EncodeFlags& flags, const text::Tokenizer& tokenizer) {
  Log log(stderr);
  Progress progress(log, {.label = "encode", .unit = "lines"});
  const int threads = resolve_thread_count(flags.threads);
  std::size_t line_number = 0;
  for (auto texts = read_batch(flags.jsonl, line_number); !texts.empty();
       texts = read_batch(flags.jsonl, line_number)) {
    std::string lines;
    if (flags.special) {
      for (const std::string& text : texts) append_ids(lines, tokenizer.encode_with_special(text));
    } else {
      const std::vector<std::string_view> views(texts.begin(), texts.end());
      for (const auto& ids : tokenizer.encode_batch(views, threads)) append_ids(lines, ids);
    }
    write_standard_output(lines);
    progress.update(line_number);
  }
}

// Times encoding alone. Every pass has a new tokenizer, which has not seen the words yet.
void measure(const EncodeFlags& flags) {
  const int threads = resolve_thread_count(flags.threads);
  std::vector<std::string> texts;
  std::size_t line_number = 0;
  if (flags.jsonl.empty()) {
    texts.push_back(read_standard_input());
  } else {
    for (auto more = read_batch(flags.jsonl, line_number); !more.empty(); more = read_batch(flags.jsonl, line_number)) {
      std::ranges::move(more, std::back_inserter(texts));
    }
  }
  const std::vector<std::string_view> views(texts.begin(), texts.end());
  std::vector<double> times, processor_times;
  std::size_t tokens = 0;
  for (int pass = 0; pass < flags.bench; ++pass) {
    const text::Tokenizer tokenizer = text::Tokenizer::load(tokenizer_path(flags.tokenizer));
    const Stopwatch watch;
    const double processor_start = processor_seconds();
    std::vector<std::vector<std::int32_t>> results;
    if (flags.jsonl.empty()) {
      results.push_back(tokenizer.encode_parallel(views.front(), threads));
    } else {
      results = tokenizer.encode_batch(views, threads);
    }
    times.push_back(watch.seconds());
    processor_times.push_back(processor_seconds() - processor_start);
    tokens = 0;
    for (const auto& ids : results) tokens += ids.size();
  }
  std::size_t bytes = 0;
  for (const std::string& text : texts) bytes += text.size();
  const double seconds = median(times);
  const Json result = {{"bytes", bytes},
                       {"tokens", tokens},
                       {"threads", threads},
                       {"passes", times.size()},
                       {"median_seconds", seconds},
                       {"median_cpu_seconds", median(processor_times)},
                       {"megabytes_per_second", static_cast<double>(bytes) / 1e6 / seconds},
                       {"tokens_per_second", static_cast<double>(tokens) / seconds}};
  if (flags.json) {
    fmt::print("{}\n", result.dump());
  } else {
    fmt::print("{} bytes to {} tokens, {} thread{}: {:.1f} MB/s, {} tokens/s (median of {} passes, {:.3f} s)\n", bytes,
               tokens, threads, threads == 1 ? "" : "s", result["megabytes_per_second"].get<double>(),
               format_count(result["tokens_per_second"].get<double>()), times.size(), seconds);
  }
}

void encode(const EncodeFlags& flags) {
  if (flags.bench < 0) throw UsageError("--bench takes the number of passes, at least 1");
  if (flags.bench > 0) return measure(flags);
  const text::Tokenizer tokenizer = text::Tokenizer::load(tokenizer_path(flags.tokenizer));
  if (!flags.jsonl.empty()) return encode_lines(flags, tokenizer);
  const std::string text = read_standard_input();
  std::string line;
  append_ids(line, flags.special ? tokenizer.encode_with_special(text)
                                 : tokenizer.encode_parallel(text, resolve_thread_count(flags.threads)));
  write_standard_output(line);
}

}  // namespace

void declare_tokenizer_encode(Flags& flags) {
  const auto values = std::make_shared<EncodeFlags>();
  flags.option("--tokenizer", values->tokenizer, kTokenizerHelp);
  flags.require("--tokenizer");
  flags.option("--jsonl", values->jsonl, "Read one JSON object a line and encode this field; print one array a line");
  flags.option("--special", values->special, "Encode special tokens in the text as such, not as plain text");
  flags.option("--threads", values->threads, "Number of threads (0: all processors)");
  flags.option("--bench", values->bench, "Encode this many times and print the speed instead of the ids");
  flags.option("--json", values->json, "Print the speed as one JSON object");
  flags.run([values] { encode(*values); });
}

void declare_tokenizer_decode(Flags& flags) {
  const auto path = std::make_shared<std::string>();
  flags.option("--tokenizer", *path, kTokenizerHelp);
  flags.require("--tokenizer");
  flags.run([path] {
    const text::Tokenizer tokenizer = text::Tokenizer::load(tokenizer_path(*path));
    write_standard_output(tokenizer.decode(parse_token_ids(read_standard_input())));
  });
}

}  // namespace crope::cli
