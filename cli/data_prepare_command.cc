// crope data prepare: documents to token shards.
#include <fmt/format.h>

#include <memory>

#include "cli/data_command.h"
#include "cli/tokenizer_path.h"
#include "crope/base/error.h"
#include "crope/base/interrupt.h"
#include "crope/base/log.h"
#include "crope/base/progress.h"
#include "crope/data/prepare.h"

namespace crope::cli {
namespace {

struct PrepareFlags {
  data::PrepareOptions options;
  std::string tokenizer;
  std::string out;
  std::int64_t shard_tokens = 100'000'000;
  bool json = false;
};

void report_left_out(const data::SourceCounts& counts, Log& log) {
  if (counts.bad_rows > 0)
    log.warn(fmt::format("{} bad rows skipped, the first: {}", counts.bad_rows, counts.first_bad_row));
  if (counts.nulls > 0) log.info(fmt::format("{} rows without text (null) skipped", counts.nulls));
  if (counts.empty > 0) log.info(fmt::format("{} empty documents skipped", counts.empty));
}

void print_split(const char* name, const data::SplitCounts& counts) {
  fmt::print("{:<7}{:>12}{:>15}{:>15}{:>8}\n", name, counts.documents, counts.tokens, counts.bytes, counts.shards);
}

void print_result(const data::PrepareResult& result) {
  fmt::print("{:<7}{:>12}{:>15}{:>15}{:>8}\n", "", "documents", "tokens", "bytes", "shards");
  print_split("train", result.info.train);
  print_split("val", result.info.val);
}

Json result_to_json(const data::PrepareResult& result, const std::string& out) {
  Json json = {{"out", out}, {"already_prepared", result.was_there}};
  json.update(data::to_json(result.info));
  if (result.was_there) return json;
  json["left_out"] = {
      {"bad_rows", result.counts.bad_rows}, {"nulls", result.counts.nulls}, {"empty", result.counts.empty}};
  json["seconds"] = result.seconds;
  json["bytes_per_second"] = static_cast<double>(result.counts.bytes) / result.seconds;
  return json;
}

void run(PrepareFlags& flags) {
  Log log(stderr);
  const InterruptScope interrupts;
  data::PrepareOptions& options = flags.options;
  options.tokenizer = tokenizer_path(flags.tokenizer);
  options.out = flags.out;
  if (flags.shard_tokens < 0)
    throw UsageError(fmt::format("--shard-tokens {}: expected at least 1", flags.shard_tokens));
  options.shard_tokens = static_cast<std::uint64_t>(flags.shard_tokens);
  const data::PrepareResult result = data::prepare(options, log);

  if (result.was_there) {
    log.info(fmt::format("{} holds this corpus already: nothing to do", flags.out));
  } else {
    report_left_out(result.counts, log);
    if (result.info.val.documents == 0 && options.val_fraction > 0) {
      log.warn(fmt::format("no document fell into the validation part (--val-fraction {}, {} documents)",
                           options.val_fraction, result.info.train.documents));
    }
    if (result.info.width == formats::TokenWidth::u32) {
      log.info(
          fmt::format("a vocabulary of {} needs uint32 tokens: shards are twice as large", result.info.vocab_size));
    }
    log.info(fmt::format("{} in {}, {}B/s", flags.out, format_duration(result.seconds),
                         format_count(static_cast<double>(result.counts.bytes) / result.seconds)));
  }
  if (flags.json) {
    fmt::print("{}\n", result_to_json(result, flags.out).dump());
  } else {
    print_result(result);
  }
}

}  // namespace

void declare_data_prepare(Flags& flags) {
  const auto values = std::make_shared<PrepareFlags>();
  data::PrepareOptions& options = values->options;
  flags.positional(
      "source", options.sources,
      "Files (.txt, .jsonl, .ndjson, each also .gz or .zst, and .parquet), folders of them, or - for stdin");
  flags.option("--tokenizer", values->tokenizer, kTokenizerHelp);
  flags.require("--tokenizer");
  flags.option("--begin-token", options.begin_token,
               "Special token that starts each document, such as <s> (default: <|endoftext|>)");
  flags.option("--out", values->out, "Data directory to create");
  flags.require("--out");
  flags.option("--text-field", options.source.text_field,
               "The field of JSON lines, or column of Parquet, with the text");
  flags.option("--val-fraction", options.val_fraction,
               "Share of the documents for validation; of a single text file, its last part");
  flags.option("--shard-tokens", values->shard_tokens, "Tokens per shard");
  flags.option("--format", values->options.source.format,
               "auto (by the ending of the name; stdin is jsonl), text, jsonl or parquet");
  flags.option("--split-blank-lines", options.source.split_blank_lines,
               "In text, a line that is empty or white space ends a document");
  flags.option("--skip-bad-rows", options.source.skip_bad_rows,
               "Skip and count lines that are not JSON or have no such field, instead of stopping");
  flags.option("--threads", options.threads, "Number of threads (0: all processors)");
  flags.option("--json", values->json, "Print one JSON object: counts, sources, speed");
  flags.run([values] { run(*values); });
}

}  // namespace crope::cli
