#include "crope/data/prepare.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstring>
#include <optional>
#include <utility>

#include "crope/base/error.h"
#include "crope/base/file.h"
#include "crope/base/interrupt.h"
#include "crope/base/progress.h"
#include "crope/base/random.h"
#include "crope/base/stopwatch.h"
#include "crope/base/threads.h"
#include "crope/data/ordered_workers.h"
#include "crope/data/shard_set.h"
#include "crope/text/tokenizer.h"

namespace crope::data {
namespace fs = std::filesystem;
namespace {

constexpr std::size_t kBatchBytes = std::size_t{1} << 19;  // text that one thread encodes at a time

struct Batch {
  struct Part {
    std::size_t end;  // in text
    bool starts_document, is_validation;
  };
  std::string text;
  std::vector<Part> parts;
  std::vector<std::int32_t> train, val;  // the tokens, once it is encoded
};

void check_options(const PrepareOptions& options) {
  if (!(options.val_fraction >= 0 && options.val_fraction < 1)) {
    throw UsageError(fmt::format("val_fraction = {}: expected at least 0 and below 1", options.val_fraction));
  }
  if (options.shard_tokens < 1 || options.shard_tokens > formats::TokenShardWriter::kMostTokens) {
    throw UsageError(fmt::format("shard_tokens = {}: expected 1 to {}", options.shard_tokens,
                                 formats::TokenShardWriter::kMostTokens));
  }
  if (options.out.empty()) throw UsageError("out: expected the name of a folder");
}

// Nanoseconds since 1970; 0 if it cannot be had.
std::int64_t modification_time(const fs::path& path) {
  std::error_code code;
  const fs::file_time_type time = fs::last_write_time(path, code);
  if (code) return 0;
  const auto since_1970 = std::chrono::file_clock::to_sys(time).time_since_epoch();
  return std::chrono::duration_cast<std::chrono::nanoseconds>(since_1970).count();
}

// All that the shards depend on.
Json describe(const PrepareOptions& options, const std::vector<SourceFile>& files) {
  Json sources = Json::array();
  for (const SourceFile& file : files) {
    Json row = {{"name", file.path.string()}};
    if (file.path != "-") {
      row["bytes"] = file.bytes;
      row["modified"] = modification_time(file.path);
    }
    sources.push_back(std::move(row));
  }
  Json preparation = {{"sources", std::move(sources)},
                      {"text_field", options.source.text_field},
                      {"format", options.source.format},
                      {"split_blank_lines", options.source.split_blank_lines},
                      {"skip_bad_rows", options.source.skip_bad_rows},
                      {"val_fraction", options.val_fraction},
                      {"shard_tokens", options.shard_tokens}};
  if (!options.begin_token.empty()) preparation["begin_token"] = options.begin_token;
  return preparation;
}

// A description whose sources are named by their full paths: one file may be given by several.
Json with_full_paths(Json preparation) {
  if (!preparation.is_object() || !preparation.contains("sources")) return preparation;
  for (Json& row : preparation["sources"]) {
    if (!row.is_object() || !row.contains("name") || !row["name"].is_string() || row["name"] == "-") continue;
    row["name"] = fs::weakly_canonical(row["name"].get<std::string>()).string();
  }
  return preparation;
}

// What `out` holds if it is the result of this preparation, nothing if it is not there; throws otherwise.
std::optional<DatasetInfo> find_finished(const PrepareOptions& options, const Json& preparation,
                                         const std::string& fingerprint) {
  if (!fs::exists(fs::symlink_status(options.out))) return std::nullopt;
  const char* hint = "give another folder, or remove this one first";
  const bool is_folder = fs::is_directory(options.out);
  if (is_folder && fs::is_empty(options.out)) {
    std::error_code code;
    if (!fs::remove(options.out, code)) {
      throw Error(fmt::format("cannot replace the empty folder {}: {}", options.out.string(), code.message()), hint);
    }
    return std::nullopt;
  }
  if (!is_folder || !fs::exists(options.out / kDatasetFile)) {
    throw Error(fmt::format("{} exists already and is no prepared corpus", options.out.string()), hint);
  }
  const DataDir dir = open_data_dir(options.out);
  std::vector<std::string> differences;
  if (dir.info->tokenizer_fingerprint != fingerprint) differences.emplace_back("tokenizer");
  const Json found = with_full_paths(dir.info->preparation), wanted = with_full_paths(preparation);
  for (const auto& [key, value] : wanted.items()) {
    if (!found.is_object() || found.value(key, Json()) != value) differences.push_back(key);
  }
  const bool has_stdin = std::ranges::count(options.sources, "-") > 0;
  if (has_stdin) differences.emplace_back("standard input");
  if (differences.empty()) return dir.info;
  throw Error(fmt::format("{} exists already and was prepared from something else ({})", options.out.string(),
                          fmt::join(differences, ", ")),
              hint);
}

// The byte of a single plain text file at which its last share begins; nothing for other sources.
std::optional<std::uint64_t> first_held_out_byte(const PrepareOptions& options, const std::vector<SourceFile>& files) {
  const bool is_single_text = files.size() == 1 && files[0].format == SourceFormat::text && files[0].bytes > 0 &&
                              !files[0].path.string().ends_with(".gz") && !files[0].path.string().ends_with(".zst");
  if (!is_single_text || options.val_fraction == 0) return std::nullopt;
  return static_cast<std::uint64_t>(static_cast<double>(files[0].bytes) * (1 - options.val_fraction));
}

// The token that starts each document.
std::int32_t find_begin_token(const PrepareOptions& options, const text::Tokenizer& tokenizer) {
  const std::string_view wanted =
      options.begin_token.empty() ? text::kEndOfText : std::string_view(options.begin_token);
  std::vector<std::string> names;
  for (const text::SpecialToken& token : tokenizer.vocabulary().special_tokens) {
    if (token.content == wanted) return token.id;
    names.push_back(token.content);
  }
  throw Error(fmt::format("{}: the tokenizer has no special token {}, which starts each document",
                          options.tokenizer.string(), wanted),
              names.empty() ? "make a tokenizer with: crope tokenizer train"
                            : fmt::format("give one that it has, such as '{}'", names.front()));
}

// Reads, has encoded and writes; one object for one preparation.
class Preparation {
 public:
  Preparation(const PrepareOptions& options, const text::Tokenizer& tokenizer, std::int32_t begin_token,
              std::vector<SourceFile> files, const fs::path& folder, Log& log)
      : options_(options),
        tokenizer_(tokenizer),
        begin_token_(begin_token),
        held_out_from_(first_held_out_byte(options, files)),
        source_(std::move(files), options.source),
        train_(folder, "train", formats::token_width_for(tokenizer.vocab_size()), options.shard_tokens),
        val_(folder, "val", formats::token_width_for(tokenizer.vocab_size()), options.shard_tokens),
        progress_(log, {.label = "prepare", .unit = "bytes", .total = source_.total_bytes()}) {}

  void run() {
    const int threads = resolve_thread_count(options_.threads);
    OrderedWorkers<Batch> workers([this](Batch& batch) { encode(batch); }, threads,
                                  2 * static_cast<std::size_t>(threads) + 2);
    Batch batch;
    while (read(batch)) {
      workers.push(std::move(batch));
      batch = workers.full() ? write(workers.pop()) : Batch();
      throw_if_interrupted();
      progress_.update(source_.consumed_bytes(),
                       format_count(static_cast<double>(train_.tokens() + val_.tokens())) + " tokens");
    }
    while (!workers.empty()) {
      write(workers.pop());
      throw_if_interrupted();
    }
    train_.finish();
    val_.finish();
  }

  SplitCounts counts(bool is_validation) const {
    const ShardSetWriter& set = is_validation ? val_ : train_;
    SplitCounts counts = is_validation ? val_counts_ : train_counts_;
    counts.tokens = set.tokens();
    counts.shards = set.shards();
    return counts;
  }

  const SourceCounts& source_counts() const { return source_.counts(); }

 private:
  // Fills the batch anew, in the memory that it has. False if there is no more text.
  bool read(Batch& batch) {
    batch.text.clear();
    batch.parts.clear();
    while (batch.text.size() < kBatchBytes && source_.next(piece_)) {
      // The first document stays in the training part, so that this is never empty.
      if (piece_.starts_document) {
        is_validation_ = source_.counts().documents > 1 && goes_to_validation(piece_.text, options_.val_fraction);
      }
      std::string_view text = piece_.text;
      if (const std::size_t kept = training_share(text); kept < text.size()) {
        append(batch, text.substr(0, kept), piece_.starts_document);
        text.remove_prefix(kept);
        is_validation_ = true;
        append(batch, text, /*starts_document=*/true);
      } else {
        append(batch, text, piece_.starts_document);
      }
    }
    return !batch.parts.empty();
  }

  void append(Batch& batch, std::string_view text, bool starts_document) {
    SplitCounts& counts = is_validation_ ? val_counts_ : train_counts_;
    counts.documents += starts_document ? 1 : 0;
    counts.bytes += text.size();
    batch.text += text;
    batch.parts.push_back({batch.text.size(), starts_document, is_validation_});
  }

  // How much of the last piece of the first document lies before the held-out share of a single text file; all of it
  // for other documents and sources.
  std::size_t training_share(std::string_view text) const {
    const SourceCounts& counts = source_.counts();
    if (!held_out_from_ || is_validation_ || counts.documents > 1 || counts.bytes <= *held_out_from_)
      return text.size();
    const std::uint64_t before = counts.bytes - text.size();
    std::size_t cut = *held_out_from_ > before ? static_cast<std::size_t>(*held_out_from_ - before) : 0;
    while (cut < text.size() && !is_clean_cut(text, cut)) ++cut;
    return cut;
  }

  void encode(Batch& batch) const {
    batch.train.clear();
    batch.val.clear();
    std::size_t begin = 0;
    for (const auto& [end, starts_document, is_validation] : batch.parts) {
      std::vector<std::int32_t>& ids = is_validation ? batch.val : batch.train;
      if (starts_document) ids.push_back(begin_token_);
      tokenizer_.encode_append(std::string_view(batch.text).substr(begin, end - begin), ids);
      begin = end;
    }
  }

  // Gives the batch back, to be filled again.
  Batch write(Batch batch) {
    train_.append(batch.train);
    val_.append(batch.val);
    return batch;
  }

  const PrepareOptions& options_;
  const text::Tokenizer& tokenizer_;
  std::int32_t begin_token_;
  std::optional<std::uint64_t> held_out_from_;  // in bytes of text
  DocumentSource source_;
  Piece piece_;  // the last one read
  ShardSetWriter train_, val_;
  SplitCounts train_counts_, val_counts_;  // documents and bytes; tokens are counted where they are written
  bool is_validation_ = false;             // of the document at hand
  Progress progress_;
};

}  // namespace

bool goes_to_validation(std::string_view text, double val_fraction) {
  // Eight bytes at a time: this runs on the one thread that reads.
  std::uint64_t hash = text.size();
  const auto add = [&](const char* bytes, std::size_t count) {
    std::uint64_t word = 0;
    std::memcpy(&word, bytes, count);
    hash = (hash ^ word) * 0x9E3779B97F4A7C15u;
    hash ^= hash >> 32;
  };
  std::size_t i = 0;
  for (; text.size() - i >= 8; i += 8) add(text.data() + i, 8);
  if (i < text.size()) add(text.data() + i, text.size() - i);
  return RandomStream(hash, "validation split").uniform_at(0) < val_fraction;
}

PrepareResult prepare(const PrepareOptions& options, Log& log) {
  check_options(options);
  const Stopwatch watch;
  const text::Tokenizer tokenizer = text::Tokenizer::load(options.tokenizer);
  const std::int32_t begin_token = find_begin_token(options, tokenizer);
  std::vector<SourceFile> files = find_sources(options.sources, options.source.format);
  PrepareResult result;
  const Json preparation = describe(options, files);
  if (const auto finished = find_finished(options, preparation, tokenizer.fingerprint())) {
    result.info = *finished;
    result.was_there = true;
    return result;
  }

  AtomicDirectory folder(options.out);
  Preparation run(options, tokenizer, begin_token, std::move(files), folder.working_path(), log);
  run.run();
  result.counts = run.source_counts();
  if (result.counts.documents == 0) {
    throw Error(fmt::format("no documents with text were found in {}", fmt::join(options.sources, ", ")));
  }
  result.info = {.tokenizer_fingerprint = tokenizer.fingerprint(),
                 .vocab_size = tokenizer.vocab_size(),
                 .end_of_text = begin_token,
                 .width = formats::token_width_for(tokenizer.vocab_size()),
                 .train = run.counts(/*is_validation=*/false),
                 .val = run.counts(/*is_validation=*/true),
                 .preparation = preparation};
  const bool is_folder = fs::is_directory(options.tokenizer);
  write_file(folder.working_path() / text::kTokenizerFile,
             read_file(is_folder ? options.tokenizer / text::kTokenizerFile : options.tokenizer));
  write_json(folder.working_path() / kDatasetFile, to_json(result.info));
  folder.commit();
  result.seconds = watch.seconds();
  return result;
}

}  // namespace crope::data
