// From documents to token shards (`crope data prepare`).
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "crope/base/log.h"
#include "crope/data/data_dir.h"
#include "crope/data/document_source.h"

namespace crope::data {

struct PrepareOptions {
  std::vector<std::string> sources;
  SourceOptions source;
  std::filesystem::path tokenizer;  // a tokenizer.json, or a folder that holds one
  std::string begin_token;          // special token that starts each document; "": <|endoftext|>
  std::filesystem::path out;
  // The share of documents, by a hash of their text, that goes to the validation part. A single text file whose first
  // document reaches into the last share of its bytes is cut there instead, and the rest of that document is held out.
  double val_fraction = 0.01;
  std::uint64_t shard_tokens = 100'000'000;
  int threads = 0;  // 0: all processors
};

struct PrepareResult {
  DatasetInfo info;
  SourceCounts counts;
  double seconds = 0;
  bool was_there = false;  // the folder held the result of this very preparation: nothing was done
};

// Writes the data directory `out`: shards, dataset.json and a copy of the tokenizer. Each document is the begin
// token and then its text. The bytes written depend on the sources and the options, not on the number of threads.
//
// `out` appears when everything is written; an interrupt (see InterruptScope) or a failure leaves nothing, a killed
// process a hidden folder beside `out` that the next preparation removes. An `out` that is there already is left alone:
// if it is the finished result of the same sources (names, sizes, times of change), options and tokenizer, that is
// returned, otherwise an Error is thrown. An empty folder counts as not there.
//
// Throws Error also for a corpus without documents and a tokenizer without that token; UsageError for options
// out of range.
PrepareResult prepare(const PrepareOptions& options, Log& log);

// Whether the document whose first piece is `text` belongs to the validation part.
bool goes_to_validation(std::string_view text, double val_fraction);

}  // namespace crope::data
