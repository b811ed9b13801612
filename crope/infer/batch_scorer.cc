#include "crope/infer/batch_scorer.h"

#include <ATen/ATen.h>

#include <algorithm>
#include <numeric>

#include "crope/ops/derived_weights.h"

namespace crope::infer {
namespace {

using torch::Tensor;

// Rows of logits that exist at once, in fp64: with GPT-2's vocabulary 0.4 GB.
constexpr std::int64_t kBatchLogitRows = 1024;

struct Row {
  std::size_t request;
  std::vector<std::int64_t> ids;  // the input, and the token behind it
};

std::int64_t input_length(const Row& row) {
  return static_cast<std::int64_t>(row.ids.size()) - 1;
}

// Longest first, so that the first batch needs the most memory.
std::vector<Row> rows_by_length(std::span<const ScoreRequest> requests, std::int64_t window) {
  std::vector<Row> rows;
  for (std::size_t i = 0; i < requests.size(); ++i) {
    Row row{.request = i, .ids = {requests[i].context.begin(), requests[i].context.end()}};
    row.ids.insert(row.ids.end(), requests[i].continuation.begin(), requests[i].continuation.end());
    const auto excess = static_cast<std::ptrdiff_t>(row.ids.size()) - window - 1;
    if (excess > 0) row.ids.erase(row.ids.begin(), row.ids.begin() + excess);
    rows.push_back(std::move(row));
  }
  std::ranges::stable_sort(rows, std::greater(), input_length);
  return rows;
}

// One position of the batch for each token of a continuation.
struct Places {
  std::vector<std::int64_t> positions;  // in the batch's [B T] features
  std::vector<std::int64_t> targets;
  std::vector<std::int64_t> counts;  // by row
};

// Natural logarithms of the targets' probabilities, and whether each is the largest: [R] each, on the CPU.
std::pair<Tensor, Tensor> judge(const model::Transformer& model, const Tensor& features, const Places& places) {
  const auto device = features.device();
  const Tensor positions = at::tensor(places.positions, at::kLong).to(device);
  const Tensor targets = at::tensor(places.targets, at::kLong).to(device);
  std::vector<Tensor> logs, greedy;
  const std::int64_t R = positions.size(0);
  for (std::int64_t first = 0; first < R; first += kBatchLogitRows) {
    const std::int64_t count = std::min(kBatchLogitRows, R - first);
    const Tensor x = features.index_select(0, positions.narrow(0, first, count));
    const Tensor target = targets.narrow(0, first, count).unsqueeze(1);
    const Tensor logits = at::linear(x, model.output).to(at::kFloat);
    logs.push_back(at::log_softmax(logits, 1, at::kDouble).gather(1, target).squeeze(1));
    greedy.push_back(logits.argmax(1).eq(target.squeeze(1)));
  }
  return {at::cat(logs).cpu(), at::cat(greedy).cpu()};
}

void score_batch(const model::Transformer& model, std::span<const Row> rows, std::span<const ScoreRequest> requests,
                 const std::function<void(std::size_t, const Score&)>& on_score) {
  const auto B = static_cast<std::int64_t>(rows.size());
  const std::int64_t T = input_length(rows.front());
  const Tensor ids = at::zeros({B, T}, at::kLong);
  Places places;
  for (std::int64_t b = 0; b < B; ++b) {
    const Row& row = rows[static_cast<std::size_t>(b)];
    const std::int64_t length = input_length(row);
    std::copy_n(row.ids.begin(), length, ids.mutable_data_ptr<std::int64_t>() + b * T);
    const auto count = static_cast<std::int64_t>(requests[row.request].continuation.size());
    for (std::int64_t t = length - count; t < length; ++t) {
      places.positions.push_back(b * T + t);
      places.targets.push_back(row.ids[static_cast<std::size_t>(t + 1)]);
    }
    places.counts.push_back(count);
  }
  const Tensor features = model::features(model, ids.to(model.embedding.device())).reshape({B * T, -1});
  const auto [logs, greedy] = judge(model, features, places);
  const auto* log = logs.const_data_ptr<double>();
  const auto* is_greedy = greedy.const_data_ptr<bool>();
  for (std::size_t b = 0; b < rows.size(); ++b) {
    const auto count = places.counts[b];
    on_score(rows[b].request, {.log_likelihood = std::accumulate(log, log + count, 0.0),
                               .is_greedy = std::all_of(is_greedy, is_greedy + count, [](bool x) { return x; })});
    log += count;
    is_greedy += count;
  }
}

}  // namespace

void score_in_batches(const model::Transformer& model, std::span<const ScoreRequest> requests,
                      const ScorerOptions& options, const std::function<void(std::size_t, const Score&)>& on_score) {
  const at::NoGradGuard no_grad;
  const ops::DerivedWeightScope derived(model::parameter_values(model));
  const std::vector<Row> rows = rows_by_length(requests, model.config.max_seq_len);
  for (std::size_t first = 0; first < rows.size();) {
    const auto longest = static_cast<std::size_t>(input_length(rows[first]));
    const std::size_t fitting = static_cast<std::size_t>(options.batch_tokens) / longest;
    const std::size_t count = std::clamp<std::size_t>(fitting, 1, rows.size() - first);
    score_batch(model, std::span(rows).subspan(first, count), requests, on_score);
    first += count;
  }
}

}  // namespace crope::infer
