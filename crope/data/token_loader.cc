#include "crope/data/token_loader.h"

#include <fmt/format.h>

#include <optional>
#include <utility>

#include "crope/base/error.h"
#include "crope/base/json_fields.h"
#include "crope/data/row_permutation.h"

namespace crope::data {
namespace {

void check_same(const char* what, const std::string& expected, const std::string& found) {
  if (expected == found) return;
  throw Error(fmt::format("the run was started with {} {}, this is {}", what, found, expected),
              "continue with the same data and settings, or start a new run");
}

}  // namespace

Json to_json(const LoaderState& state) {
  return {{"position", state.position},
          {"order", Choice(state.order)},
          {"seed", state.seed},
          {"corpus_tokens", state.corpus_tokens},
          {"seq_len", static_cast<std::uint64_t>(state.seq_len)}};
}

LoaderState loader_state_from_json(const Json& json, const std::string& origin) {
  const JsonFields fields(json, origin);
  return {.position = fields.get<std::uint64_t>("position"),
          .order = setting_value<Choice<RowOrder>>(fields.at("order"), "order", origin),
          .seed = fields.get<std::uint64_t>("seed"),
          .corpus_tokens = fields.get<std::uint64_t>("corpus_tokens"),
          .seq_len = fields.get<std::int64_t>("seq_len")};
}

TokenLoader::TokenLoader(std::shared_ptr<const TokenRows> rows, const LoaderOptions& options)
    : rows_(std::move(rows)), options_(options) {
  if (options.world_size < 1 || options.rank < 0 || options.rank >= options.world_size) {
    throw UsageError(fmt::format("rank {} of {}", options.rank, options.world_size));
  }
  if (options.batch_rows < 1 || options.batch_rows % options.world_size != 0) {
    throw UsageError(
        fmt::format("a batch of {} rows cannot be shared evenly by {} ranks", options.batch_rows, options.world_size),
        "choose a batch_size that is a multiple of the number of ranks");
  }
  const auto needed = static_cast<std::uint64_t>(options.batch_rows);
  if (rows_->size() < needed) {
    const auto T = static_cast<std::uint64_t>(rows_->seq_len());
    throw Error(fmt::format("too few tokens: a batch of {} rows of sequence length {} needs {}, {} found", needed, T,
                            needed * T + 1, rows_->tokens()),
                "prepare more text, or use a smaller batch_size or seq_len");
  }
}

TokenBatch TokenLoader::read(std::uint64_t position) const {
  const std::uint64_t n = rows_->size();
  const auto length = static_cast<std::size_t>(rows_->seq_len()) + 1;
  const std::int64_t share = options_.batch_rows / options_.world_size;
  TokenBatch batch{.rows = share, .tokens = std::vector<std::int64_t>(static_cast<std::size_t>(share) * length)};
  const std::uint64_t first = position + static_cast<std::uint64_t>(options_.rank * share);
  std::optional<RowPermutation> permutation;
  for (std::uint64_t i = 0; i < static_cast<std::uint64_t>(share); ++i) {
    const std::uint64_t place = first + i;
    std::uint64_t row = place % n;
    if (options_.order == RowOrder::shuffled) {
      if (!permutation || row == 0) permutation.emplace(n, options_.seed, place / n);
      row = (*permutation)(row);
    }
    rows_->read(row, std::span(batch.tokens).subspan(i * length, length));
  }
  return batch;
}

TokenBatch TokenLoader::next() {
  TokenBatch batch = ahead_.valid() ? ahead_.get() : read(position_);
  position_ += static_cast<std::uint64_t>(options_.batch_rows);
  ahead_ = std::async(std::launch::async, [this, position = position_] { return read(position); });
  return batch;
}

LoaderState TokenLoader::state() const {
  return {.position = position_,
          .order = options_.order,
          .seed = options_.seed,
          .corpus_tokens = rows_->tokens(),
          .seq_len = rows_->seq_len()};
}

void TokenLoader::restore(const LoaderState& state) {
  check_same("a corpus of tokens", std::to_string(rows_->tokens()), std::to_string(state.corpus_tokens));
  check_same("sequence length", std::to_string(rows_->seq_len()), std::to_string(state.seq_len));
  check_same("order", std::string(Choice(options_.order).name()), std::string(Choice(state.order).name()));
  if (options_.order == RowOrder::shuffled) {
    check_same("seed", std::to_string(options_.seed), std::to_string(state.seed));
  }
  ahead_ = {};  // waits for the reading thread, and drops what it read
  position_ = state.position;
}

double TokenLoader::epoch() const {
  return static_cast<double>(position_) / static_cast<double>(rows_->size());
}

}  // namespace crope::data
