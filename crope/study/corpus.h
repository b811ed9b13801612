// The data of a study: token shards, other texts to validate on, and benchmarks.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "crope/base/log.h"
#include "crope/study/small_world.h"
#include "crope/train/train_job.h"

namespace crope::study {

struct CorpusOptions {
  std::filesystem::path data;        // a data directory, or text that one is made from; empty: the embedded world
  std::filesystem::path benchmarks;  // folder of benchmark files; empty: the world's, or none with data of one's own
  std::vector<train::OtherText> validate_also;  // data directories, or texts that they are made from
  SmallWorldOptions world = {};
  std::int64_t vocab_size = 4096;  // of a tokenizer that has to be trained
};

struct Corpus {
  std::filesystem::path data;
  std::filesystem::path benchmarks;  // may be empty
  std::vector<train::OtherText> validate_also;
};

// Makes what is missing below `folder`: tokenizer/, data/ and texts/<name>/ from text, or the embedded world. What is
// there already is used. Throws Error if it was made from something else.
Corpus make_corpus(const std::filesystem::path& folder, const CorpusOptions& options, Log& log);

// Whether make_corpus(folder, options) would find all its shards made.
bool is_corpus_made(const std::filesystem::path& folder, const CorpusOptions& options);

}  // namespace crope::study
