// The loss on a fixed set of rows: the first ones of the validation part, the same at every step and in every run.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>

#include "crope/data/data_dir.h"
#include "crope/data/token_rows.h"
#include "crope/dist/process_group.h"
#include "crope/model/transformer.h"
#include "crope/train/train_config.h"

namespace crope::train {

// Whether a run validates after its update number `step`, counted from 1: every validate_every steps, in the final
// phase every validate_final_every steps counted back from the last one, and always after the last.
bool validation_is_due(const TrainConfig& config, std::int64_t step);

// The number of steps of the whole run after which it validates.
std::int64_t count_validations(const TrainConfig& config);

struct ValidationResult {
  double loss;                          // mean over the predicted tokens, in nats
  std::optional<double> bits_per_byte;  // of their text; absent where the bytes of a token are not known
};

// The data directory of a text that is not trained on, with the part to validate on as its validation part: its own,
// or its training part where it has none.
data::DataDir held_out_text(data::DataDir data);

struct ValidationOptions {
  std::int64_t seq_len;
  std::int64_t rows = 0;  // at most; 0 takes all (limited_rows)
  std::int64_t micro_batch_size = 1;
};

// The number of rows that are validated on, out of `available`; at_most = 0 takes all.
std::uint64_t limited_rows(std::uint64_t available, std::int64_t at_most);

class Validation {
 public:
  // Throws Error if the part has fewer tokens than one row.
  Validation(const data::DataDir& data, std::int64_t vocab_size, const ValidationOptions& options);

  ValidationResult run(const model::Transformer& model) const;

  // Validates with the ranks of a group, each on its share of the rows.
  ValidationResult run(const model::Transformer& model, dist::ProcessGroup& group) const;

  // Reads every row once. Throws Error naming shard and place for an id outside the vocabulary.
  void check_ids() const;

  std::uint64_t rows() const { return rows_; }

 private:
  data::TokenRows tokens_;
  std::uint64_t rows_;
  std::int64_t micro_batch_size_;
  std::optional<double> bytes_per_token_;
};

}  // namespace crope::train
