// crope tokenizer: train or import a vocabulary, encode and decode text.
#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <iterator>
#include <memory>

#include "cli/command.h"
#include "cli/tokenizer_encode.h"
#include "crope/base/error.h"
#include "crope/base/file.h"
#include "crope/base/json.h"
#include "crope/base/progress.h"
#include "crope/base/threads.h"
#include "crope/data/document_source.h"
#include "crope/text/bpe_trainer.h"
#include "crope/text/gpt2_files.h"
#include "crope/text/tokenizer_json.h"

namespace crope::cli {
namespace {

struct TrainFlags {
  std::vector<std::string> sources;
  std::string out;
  std::string format = "auto";
  data::SourceOptions source;
  std::vector<std::string> special_tokens;
  std::int64_t vocab_size = 0;
  std::int64_t min_count = 1;
  int threads = 0;
  bool json = false;
};

void print_table(const Json& rows) {
  for (const auto& [name, value] : rows.items()) {
    fmt::print("{:<16}{}\n", name, value.is_string() ? value.get<std::string>() : value.dump());
  }
}

// Prints what was written to `out`, after `first`.
void print_result(Json first, const std::string& out, const text::Vocabulary& vocabulary, bool json) {
  first["directory"] = out;
  first["vocab_size"] = vocabulary.tokens.size();
  first["merges"] = vocabulary.merges.size();
  for (const text::SpecialToken& special : vocabulary.special_tokens) {
    first["special_tokens"][special.content] = special.id;
  }
  first["fingerprint"] = vocabulary.fingerprint();
  if (json) {
    fmt::print("{}\n", first.dump());
  } else {
    print_table(first);
  }
}

void train(const TrainFlags& flags) {
  Log log(stderr);
  const auto start = std::chrono::steady_clock::now();
  text::BpeTrainerOptions options{.vocab_size = flags.vocab_size, .min_count = flags.min_count};
  if (std::ranges::count(flags.special_tokens, text::kEndOfText) > 0) options.special_tokens.clear();
  std::ranges::copy(flags.special_tokens, std::back_inserter(options.special_tokens));
  text::check_options(options);
  AtomicDirectory folder(flags.out);

  data::DocumentSource source(data::find_sources(flags.sources, data::parse_source_format(flags.format)), flags.source);
  text::WordCounts words;
  {
    Progress progress(log, {.label = "count words", .unit = "bytes", .total = source.total_bytes()});
    data::Piece piece;
    const auto next = [&](std::string& text) {
      progress.update(source.consumed_bytes());
      if (!source.next(piece)) return false;
      text.swap(piece.text);
      return true;
    };
    words = text::count_words(next, options.special_tokens, resolve_thread_count(flags.threads));
  }
  text::Vocabulary vocabulary;
  {
    Progress progress(log, {.label = "merge", .unit = "tokens", .total = static_cast<std::uint64_t>(flags.vocab_size)});
    options.on_progress = [&](std::size_t tokens) { progress.update(tokens); };
    vocabulary = text::train_bpe(words, options);
  }
  if (static_cast<std::int64_t>(vocabulary.tokens.size()) < flags.vocab_size) {
    log.warn(fmt::format("the text gives {} tokens, fewer than the {} asked for", vocabulary.tokens.size(),
                         flags.vocab_size));
  }
  text::write_tokenizer_files(folder.working_path(), vocabulary);
  folder.commit();
  const std::chrono::duration<double> elapsed = std::chrono::steady_clock::now() - start;
  print_result({{"documents", source.counts().documents},
                {"bytes", source.counts().bytes},
                {"distinct_words", words.words().size()},
                {"seconds", std::round(elapsed.count() * 1000) / 1000}},
               flags.out, vocabulary, flags.json);
}

void declare_tokenizer_train(Flags flags) {
  const auto values = std::make_shared<TrainFlags>();
  flags.positional("source", values->sources,
                   "Files of text (.txt), of JSON lines (.jsonl, .gz, .zst), of Parquet, or folders of them");
  flags.option("--vocab-size", values->vocab_size, "Tokens in all, with special tokens and the 256 bytes");
  flags.require("--vocab-size");
  flags.option("--out", values->out, "Folder to make");
  flags.require("--out");
  flags.option("--special-token", values->special_tokens,
               "A special token besides <|endoftext|>; repeat for more. Ids from 0 in this order");
  flags.option("--text-field", values->source.text_field, "The field of JSON lines or column that holds the text");
  flags.option("--format", values->format, "auto (by the ending of the name; stdin is jsonl), text, jsonl or parquet");
  flags.option("--skip-bad-rows", values->source.skip_bad_rows, "Leave rows without text out instead of stopping");
  flags.option("--min-count", values->min_count, "Merge no pair that occurs less often");
  flags.option("--threads", values->threads, "Threads (0: all processors)");
  flags.option("--json", values->json, "Print one JSON object");
  flags.run([values] { train(*values); });
}

struct ImportFilesFlags {
  std::string vocab;
  std::string merges;
  std::string tokenizer_json;
  std::string out;
  bool json = false;
};

void import_files(const ImportFilesFlags& flags) {
  if (flags.vocab.empty() != flags.merges.empty() || flags.vocab.empty() == flags.tokenizer_json.empty()) {
    throw UsageError("tokenizer import needs --vocab and --merges together, or --tokenizer-json alone",
                     "crope tokenizer import --vocab encoder.json --merges vocab.bpe --out DIR");
  }
  const text::Vocabulary vocabulary = flags.vocab.empty() ? text::read_tokenizer_json(flags.tokenizer_json)
                                                          : text::read_gpt2_files(flags.vocab, flags.merges);
  AtomicDirectory folder(flags.out);
  text::write_tokenizer_files(folder.working_path(), vocabulary);
  folder.commit();
  print_result(Json::object(), flags.out, vocabulary, flags.json);
}

void declare_tokenizer_import(Flags flags) {
  const auto values = std::make_shared<ImportFilesFlags>();
  flags.option("--vocab", values->vocab, "GPT-2's encoder.json (also called vocab.json)");
  flags.option("--merges", values->merges, "GPT-2's vocab.bpe (also called merges.txt)");
  flags.option("--tokenizer-json", values->tokenizer_json, "A tokenizer.json, or a folder that holds one");
  flags.option("--out", values->out, "Folder to make");
  flags.require("--out");
  flags.option("--json", values->json, "Print one JSON object");
  flags.run([values] { import_files(*values); });
}

void declare_tokenizer(Flags& flags) {
  declare_tokenizer_train(
      flags.command("train", "Make a vocabulary from text",
                    "crope tokenizer train corpus.jsonl --vocab-size 8192 --out out/tokenizer"));
  declare_tokenizer_import(
      flags.command("import", "Make a tokenizer folder of GPT-2's files or a tokenizer.json",
                    "crope tokenizer import --vocab encoder.json --merges vocab.bpe --out out/gpt2"));
  Flags encode = flags.command("encode", "Text on standard input to token ids",
                               "echo 'Hello world' | crope tokenizer encode --tokenizer out/gpt2");
  declare_tokenizer_encode(encode);
  Flags decode = flags.command("decode", "Token ids on standard input to text",
                               "echo '[15496,995]' | crope tokenizer decode --tokenizer out/gpt2");
  declare_tokenizer_decode(decode);
}

}  // namespace

const Command kTokenizerCommand = {"tokenizer", "Train or import a vocabulary, encode and decode text",
                                   "echo 'Hello world' | crope tokenizer encode --tokenizer out/gpt2",
                                   declare_tokenizer};

}  // namespace crope::cli
