// crope tokenizer: train or import a vocabulary, encode and decode text.
#include <fmt/format.h>

#include <cmath>
#include <memory>

#include "cli/command.h"
#include "cli/tokenizer_encode.h"
#include "crope/base/error.h"
#include "crope/base/file.h"
#include "crope/base/interrupt.h"
#include "crope/base/json.h"
#include "crope/base/stopwatch.h"
#include "crope/data/tokenizer_training.h"
#include "crope/text/gpt2_files.h"
#include "crope/text/tokenizer_json.h"

namespace crope::cli {
namespace {

struct TokenizerTrainFlags {
  data::TokenizerTrainingOptions options;
  std::string out;
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

void train(TokenizerTrainFlags flags) {
  Log log(stderr);
  const InterruptScope interrupts;
  const Stopwatch watch;
  const data::TrainedTokenizer trained = data::train_tokenizer(flags.options, flags.out, log);
  print_result({{"documents", trained.counts.documents},
                {"bytes", trained.counts.bytes},
                {"distinct_words", trained.distinct_words},
                {"seconds", std::round(watch.seconds() * 1000) / 1000}},
               flags.out, trained.vocabulary, flags.json);
}

void declare_tokenizer_train(Flags flags) {
  const auto values = std::make_shared<TokenizerTrainFlags>();
  flags.positional("source", values->options.sources,
                   "Text (.txt), JSON lines (.jsonl, also .gz or .zst) or Parquet files, or folders of them");
  flags.option("--vocab-size", values->options.vocab_size,
               "Size of the vocabulary, with special tokens and the 256 bytes");
  flags.require("--vocab-size");
  flags.option("--out", values->out, "Tokenizer folder to create");
  flags.require("--out");
  flags.option("--special-token", values->options.special_tokens,
               "A special token besides <|endoftext|>; repeat for more. Ids from 0 in this order");
  flags.option("--text-field", values->options.source.text_field,
               "The field of JSON lines or column that holds the text");
  flags.option("--format", values->options.source.format,
               "auto (by the ending of the name; stdin is jsonl), text, jsonl or parquet");
  flags.option("--skip-bad-rows", values->options.source.skip_bad_rows, "Skip rows without text instead of stopping");
  flags.option("--min-count", values->options.min_count, "Smallest count of a pair to merge");
  flags.option("--threads", values->options.threads, "Number of threads (0: all processors)");
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
  flags.option("--out", values->out, "Tokenizer folder to create");
  flags.require("--out");
  flags.option("--json", values->json, "Print one JSON object");
  flags.run([values] { import_files(*values); });
}

void declare_tokenizer(Flags& flags) {
  declare_tokenizer_train(flags.command("train", "Make a vocabulary from text",
                                        "crope tokenizer train corpus.jsonl --vocab-size 8192 --out out/tokenizer"));
  declare_tokenizer_import(
      flags.command("import", "Make a tokenizer folder from GPT-2's files or a tokenizer.json",
                    "crope tokenizer import --vocab encoder.json --merges vocab.bpe --out out/gpt2"));
  Flags encode = flags.command("encode", "Turn text on standard input into token ids",
                               "echo 'Hello world' | crope tokenizer encode --tokenizer out/gpt2");
  declare_tokenizer_encode(encode);
  Flags decode = flags.command("decode", "Turn token ids on standard input into text",
                               "echo '[15496,995]' | crope tokenizer decode --tokenizer out/gpt2");
  declare_tokenizer_decode(decode);
}

}  // namespace

const Command kTokenizerCommand = {"tokenizer", "Train or import a vocabulary, encode and decode text",
                                   "echo 'Hello world' | crope tokenizer encode --tokenizer out/gpt2",
                                   declare_tokenizer};

}  // namespace crope::cli
