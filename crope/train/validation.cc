#include "crope/train/validation.h"

#include <ATen/ATen.h>

#include <algorithm>
#include <cmath>
#include <numbers>
#include <set>

#include "crope/dist/deal.h"
#include "crope/ops/derived_weights.h"
#include "crope/text/tokenizer.h"

namespace crope::train {
namespace {

using torch::Tensor;

// Bytes of text for each predicted token of the rows: exactly, where the tokenizer stands beside the shards; as in the
// whole part, where only its counts are known.
std::optional<double> bytes_per_token(const data::DataDir& data, const data::TokenRows& tokens, std::uint64_t rows) {
  const auto tokenizer_file = data.path / text::kTokenizerFile;
  if (std::filesystem::exists(tokenizer_file)) {
    const text::Tokenizer tokenizer = text::Tokenizer::load(tokenizer_file);
    std::set<std::int32_t> special;
    for (const text::SpecialToken& token : tokenizer.vocabulary().special_tokens) special.insert(token.id);
    const auto T = static_cast<std::size_t>(tokens.seq_len());
    std::vector<std::int64_t> row(T + 1);
    std::uint64_t bytes = 0;
    for (std::uint64_t r = 0; r < rows; ++r) {
      tokens.read(r, row);
      for (std::size_t t = 1; t <= T; ++t) {
        const auto id = static_cast<std::int32_t>(row[t]);
        const bool is_text = id < tokenizer.vocab_size() && !special.contains(id);
        if (is_text) bytes += tokenizer.token_bytes(id).size();
      }
    }
    return static_cast<double>(bytes) / static_cast<double>(rows * T);
  }
  if (!data.info || data.info->val.tokens == 0) return {};
  return static_cast<double>(data.info->val.bytes) / static_cast<double>(data.info->val.tokens);
}

}  // namespace

bool validation_is_due(const TrainConfig& config, std::int64_t step) {
  if (config.validate_every == 0) return false;
  const std::int64_t left = config.steps - step;
  const bool is_final = config.validate_final_every > 0 && left < config.validate_final_steps;
  return step % config.validate_every == 0 || left == 0 || (is_final && left % config.validate_final_every == 0);
}

std::int64_t count_validations(const TrainConfig& config) {
  if (config.validate_every == 0) return 0;
  std::int64_t count = config.steps / config.validate_every;
  // And those of the final phase, or of the last step alone, that are not among them.
  const bool has_final = config.validate_final_every > 0 && config.validate_final_steps > 0;
  const std::int64_t phase = has_final ? std::min(config.validate_final_steps, config.steps) : 1;
  for (std::int64_t left = 0; left < phase; left += has_final ? config.validate_final_every : 1) {
    if ((config.steps - left) % config.validate_every != 0) ++count;
  }
  return count;
}

std::uint64_t limited_rows(std::uint64_t available, std::int64_t at_most) {
  return at_most == 0 ? available : std::min(available, static_cast<std::uint64_t>(at_most));
}

data::DataDir held_out_text(data::DataDir data) {
  if (!data.val.empty()) return data;
  data.val = data.train;
  if (data.info) data.info->val = data.info->train;
  return data;
}

Validation::Validation(const data::DataDir& data, std::int64_t vocab_size, const ValidationOptions& options)
    : tokens_(data.val, options.seq_len, vocab_size),
      rows_(limited_rows(tokens_.size(), options.rows)),
      micro_batch_size_(options.micro_batch_size),
      bytes_per_token_(bytes_per_token(data, tokens_, rows_)) {}

void Validation::check_ids() const {
  std::vector<std::int64_t> row(static_cast<std::size_t>(tokens_.seq_len()) + 1);
  for (std::uint64_t r = 0; r < rows_; ++r) tokens_.read(r, row);
}

ValidationResult Validation::run(const model::Transformer& model) const {
  dist::ProcessGroup alone;
  return run(model, alone);
}

ValidationResult Validation::run(const model::Transformer& model, dist::ProcessGroup& group) const {
  const at::NoGradGuard no_grad;
  const ops::DerivedWeightScope derived(model::parameter_values(model));
  double sum = 0;
  const auto share = dist::stretch_of(static_cast<std::int64_t>(rows_), group.rank(), group.size());
  const auto end = static_cast<std::uint64_t>(share.first + share.count);
  for (auto first = static_cast<std::uint64_t>(share.first); first < end;) {
    const std::uint64_t count = std::min(static_cast<std::uint64_t>(micro_batch_size_), end - first);
    std::vector<std::int64_t> ids = tokens_.read_range(first, count);
    const Tensor batch =
        at::from_blob(ids.data(), {static_cast<std::int64_t>(count), tokens_.seq_len() + 1}, at::kLong);
    sum += model::loss(model, batch.to(model.embedding.device())).item<double>() * static_cast<double>(count);
    first += count;
  }
  ValidationResult result{.loss = group.sum(sum) / static_cast<double>(rows_), .bits_per_byte = {}};
  if (bytes_per_token_ && *bytes_per_token_ > 0) {
    result.bits_per_byte = result.loss / std::numbers::ln2 / *bytes_per_token_;
  }
  return result;
}

}  // namespace crope::train
