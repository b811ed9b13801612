#include "crope/study/corpus.h"

#include <fmt/format.h>

#include <algorithm>

#include "crope/base/error.h"
#include "crope/data/data_dir.h"
#include "crope/data/prepare.h"
#include "crope/data/tokenizer_training.h"

namespace crope::study {
namespace fs = std::filesystem;
namespace {

// The share of a text that is not trained on. A text that is only validated on has none.
constexpr double kHeldOut = 0.01;

// The data directory `made`, from text, unless `given` is one already.
fs::path data_from(const fs::path& given, const fs::path& tokenizer, const fs::path& made, double held_out, Log& log) {
  if (data::holds_shards(given)) return given;
  data::prepare(
      {.sources = {given.string()}, .source = {}, .tokenizer = tokenizer, .out = made, .val_fraction = held_out}, log);
  return made;
}

}  // namespace

Corpus make_corpus(const fs::path& folder, const CorpusOptions& options, Log& log) {
  for (const train::OtherText& text : options.validate_also) {
    if (fs::exists(text.data)) continue;
    throw UsageError(fmt::format("--validate-also {}: {} does not exist", text.name, text.data.string()),
                     "give a data directory, or a text file");
  }
  Corpus corpus{.data = {}, .benchmarks = options.benchmarks, .validate_also = {}};
  if (options.data.empty()) {
    log.info("no --data: training on the embedded synthetic world");
    const SmallWorld world = make_small_world(folder, options.world, log);
    corpus.data = world.data;
    if (corpus.benchmarks.empty()) corpus.benchmarks = world.benchmarks;
  } else {
    const fs::path tokenizer = folder / "tokenizer";
    if (!data::holds_shards(options.data) && !fs::exists(tokenizer)) {
      log.info(fmt::format("training a tokenizer of {} tokens on {}", options.vocab_size, options.data.string()));
      data::train_tokenizer({.sources = {options.data.string()}, .vocab_size = options.vocab_size}, tokenizer, log);
    }
    corpus.data = data_from(options.data, tokenizer, folder / "data", kHeldOut, log);
  }
  for (const train::OtherText& text : options.validate_also) {
    corpus.validate_also.push_back(
        {text.name, data_from(text.data, corpus.data, folder / "texts" / text.name, /*held_out=*/0, log)});
  }
  return corpus;
}

bool is_corpus_made(const fs::path& folder, const CorpusOptions& options) {
  const auto is_made = [](const fs::path& given, const fs::path& made) {
    return data::holds_shards(given) || data::holds_shards(made);
  };
  return is_made(options.data, folder / "data") && std::ranges::all_of(options.validate_also, [&](const auto& text) {
           return is_made(text.data, folder / "texts" / text.name);
         });
}

}  // namespace crope::study
