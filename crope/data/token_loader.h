// The batches of a training run: the rows of each step and each rank, and the state to resume from.
#pragma once

#include <cstdint>
#include <future>
#include <memory>
#include <string>
#include <vector>

#include "crope/base/choice.h"
#include "crope/data/token_rows.h"

namespace crope::data {

enum class RowOrder { sequential, shuffled };

}  // namespace crope::data

template <>
struct crope::ChoiceNames<crope::data::RowOrder> {
  using Kind = data::RowOrder;
  static constexpr auto kNames = choice_names<Kind>({{Kind::sequential, "sequential"}, {Kind::shuffled, "shuffled"}});
};

namespace crope::data {

struct LoaderOptions {
  std::int64_t batch_rows = 1;  // of one step, over all ranks
  int rank = 0;
  int world_size = 1;
  RowOrder order = RowOrder::shuffled;
  std::uint64_t seed = 0;  // of the shuffled order
};

// The state to save. It does not depend on the number of ranks or the size of the batch, which may change in
// between.
struct LoaderState {
  std::uint64_t position = 0;  // rows that all ranks together have taken since the beginning of the run
  RowOrder order = RowOrder::shuffled;
  std::uint64_t seed = 0;
  std::uint64_t corpus_tokens = 0;
  std::int64_t seq_len = 0;
};

Json to_json(const LoaderState& state);

// Throws Error naming `origin` and the field.
LoaderState loader_state_from_json(const Json& json, const std::string& origin);

// The rows of this rank in one step, [rows, T + 1] row by row.
struct TokenBatch {
  std::int64_t rows = 0;
  std::vector<std::int64_t> tokens;
};

// Place p of the run is, with n rows in the corpus, place p mod n of epoch p / n. In sequential order that is row p mod
// n; shuffled, it is the row that the permutation of (seed, epoch) puts there. Step s takes places s*batch_rows and
// on: the first batch_rows / world_size of them are rank 0's, the next rank 1's. So every epoch sees every row once,
// and batches may reach from one epoch into the next.
//
// The next batch is read by another thread while the caller works. Used by one thread at a time.
class TokenLoader {
 public:
  // Throws Error if the corpus has fewer rows than one batch, UsageError if the ranks cannot share a batch evenly.
  TokenLoader(std::shared_ptr<const TokenRows> rows, const LoaderOptions& options);

  TokenLoader(const TokenLoader&) = delete;
  TokenLoader& operator=(const TokenLoader&) = delete;

  // The batch of the next step. Throws Error for a token outside the vocabulary.
  TokenBatch next();

  // The place before the batch that next() will return.
  LoaderState state() const;

  // Resumes where `state` was taken. Throws Error naming the difference if it belongs to another corpus, sequence
  // length, order or seed.
  void restore(const LoaderState& state);

  double epoch() const;  // how often the corpus has been seen, with its fraction

 private:
  TokenBatch read(std::uint64_t position) const;

  std::shared_ptr<const TokenRows> rows_;
  LoaderOptions options_;
  std::uint64_t position_ = 0;
  std::future<TokenBatch> ahead_;  // the batch at position_, if it is being read
};

}  // namespace crope::data
