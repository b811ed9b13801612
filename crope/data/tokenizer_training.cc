#include "crope/data/tokenizer_training.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <iterator>

#include "crope/base/error.h"
#include "crope/base/file.h"
#include "crope/base/interrupt.h"
#include "crope/base/progress.h"
#include "crope/base/threads.h"
#include "crope/text/bpe_trainer.h"
#include "crope/text/tokenizer_json.h"

namespace crope::data {
namespace {

text::WordCounts count_words(DocumentSource& source, const std::vector<std::string>& special_tokens, int threads,
                             Log& log) {
  Progress progress(log, {.label = "count words", .unit = "bytes", .total = source.total_bytes()});
  Piece piece;
  const auto next = [&](std::string& text) {
    throw_if_interrupted();
    progress.update(source.consumed_bytes());
    if (!source.next(piece)) return false;
    text.swap(piece.text);
    return true;
  };
  return text::count_words(next, special_tokens, resolve_thread_count(threads));
}

}  // namespace

TrainedTokenizer train_tokenizer(const TokenizerTrainingOptions& options, const std::filesystem::path& out, Log& log) {
  text::BpeTrainerOptions bpe{.vocab_size = options.vocab_size, .min_count = options.min_count};
  if (std::ranges::count(options.special_tokens, text::kEndOfText) > 0) bpe.special_tokens.clear();
  std::ranges::copy(options.special_tokens, std::back_inserter(bpe.special_tokens));
  text::check_options(bpe);
  AtomicDirectory folder(out);

  DocumentSource source(find_sources(options.sources, options.source.format), options.source);
  const text::WordCounts words = count_words(source, bpe.special_tokens, options.threads, log);
  if (words.words().empty()) {
    throw Error(fmt::format("no text was found in {}", fmt::join(options.sources, ", ")),
                "the files are empty, or text_field names a field without text");
  }
  TrainedTokenizer result;
  {
    Progress progress(log,
                      {.label = "merge", .unit = "tokens", .total = static_cast<std::uint64_t>(options.vocab_size)});
    bpe.on_progress = [&](std::size_t tokens) {
      throw_if_interrupted();
      progress.update(tokens);
    };
    result.vocabulary = text::train_bpe(words, bpe);
  }
  if (static_cast<std::int64_t>(result.vocabulary.tokens.size()) < options.vocab_size) {
    log.warn(fmt::format("the text gives {} tokens, fewer than the requested {}", result.vocabulary.tokens.size(),
                         options.vocab_size));
  }
  text::write_tokenizer_files(folder.working_path(), result.vocabulary);
  folder.commit();
  result.counts = source.counts();
  result.distinct_words = words.words().size();
  return result;
}

}  // namespace crope::data
