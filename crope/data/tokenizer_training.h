// From documents to a tokenizer (`crope tokenizer train`).
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "crope/base/log.h"
#include "crope/data/document_source.h"
#include "crope/text/vocabulary.h"

namespace crope::data {

struct TokenizerTrainingOptions {
  std::vector<std::string> sources;
  SourceOptions source;
  std::int64_t vocab_size = 0;              // with special tokens and the 256 bytes
  std::vector<std::string> special_tokens;  // besides <|endoftext|>, or with it where it stands elsewhere than first
  std::int64_t min_count = 1;               // pairs that occur less often are not merged
  int threads = 0;                          // 0: all processors
};

struct TrainedTokenizer {
  text::Vocabulary vocabulary;
  SourceCounts counts;
  std::uint64_t distinct_words = 0;
};

// Writes the folder `out` (tokenizer.json, tokenizer_config.json), which appears whole or not at all.
// Throws UsageError for options that make no sense, Error for sources that cannot be read or hold no
// text, if `out` exists, and when interrupted.
TrainedTokenizer train_tokenizer(const TokenizerTrainingOptions& options, const std::filesystem::path& out, Log& log);

}  // namespace crope::data
