#include "crope/analysis/context_use.h"

#include <ATen/ATen.h>

#include <algorithm>

#include "crope/base/interrupt.h"
#include "crope/base/statistics.h"

namespace crope::analysis {

using torch::Tensor;

namespace {

// Mean nats of the tokens at places [first, end) of ids[T].
double mean_loss(const Tensor& losses, std::int64_t first, std::int64_t end) {
  return losses.narrow(0, first - 1, end - first).mean(torch::kFloat64).item<double>();
}

std::vector<PositionLoss> losses_by_position(const std::vector<Tensor>& losses) {
  std::int64_t longest = 0;  // places with a prediction, and the first one
  for (const Tensor& row : losses) longest = std::max(longest, row.size(0) + 1);
  std::vector<PositionLoss> positions;
  for (std::int64_t first = 1, end = kNearestRecall; first < longest; first = end, end *= 2) {
    PositionLoss range{.first = first, .end = std::min(end, longest), .tokens = 0, .loss = 0, .standard_error = 0};
    std::vector<double> means;
    for (const Tensor& row : losses) {
      const std::int64_t row_end = std::min(range.end, row.size(0) + 1);
      if (row_end <= first) continue;
      means.push_back(mean_loss(row, first, row_end));
      range.tokens += row_end - first;
      range.loss += means.back() * static_cast<double>(row_end - first);
    }
    range.loss /= static_cast<double>(range.tokens);
    range.standard_error = summarize(means).standard_error();
    positions.push_back(range);
  }
  return positions;
}

// The loss of `passage` [kPassage] behind the first token of `row` [T], the tokens `before` [kPassage], and the row's
// own text up to `distance` tokens. Its first token is not counted: nothing announces it.
double passage_loss(const model::Transformer& model, const Tensor& row, const Tensor& before, const Tensor& passage,
                    std::int64_t distance) {
  const Tensor text = row.narrow(0, 1 + kPassage, distance - kPassage);
  const Tensor losses = model::token_losses(model, at::cat({row.narrow(0, 0, 1), before, text, passage}));
  return mean_loss(losses, distance + 2, distance + 1 + kPassage);
}

Recall recall_at(const model::Transformer& model, const std::vector<Tensor>& rows, std::int64_t distance) {
  std::vector<double> unread, again, gains;
  const auto passage_of = [](const Tensor& row) { return row.narrow(0, 1, kPassage); };
  for (std::size_t i = 0; i < rows.size(); ++i) {
    throw_if_interrupted();
    const Tensor passage = passage_of(rows[i]), other = passage_of(rows[(i + 1) % rows.size()]);
    unread.push_back(passage_loss(model, rows[i], other, passage, distance));
    again.push_back(passage_loss(model, rows[i], passage, passage, distance));
    gains.push_back(unread.back() - again.back());
  }
  const SampleSummary gain = summarize(gains);
  return {.distance = distance,
          .passages = static_cast<std::int64_t>(rows.size()),
          .unread = summarize(unread).mean,
          .again = summarize(again).mean,
          .gain = gain.mean,
          .standard_error = gain.standard_error()};
}

}  // namespace

ContextUse context_use(const model::Transformer& model, std::span<const Tensor> rows) {
  std::vector<Tensor> losses;
  std::int64_t longest = 0;
  for (const Tensor& row : rows) {
    throw_if_interrupted();
    losses.push_back(model::token_losses(model, row.select(0, 0)));
    longest = std::max(longest, row.size(1));
  }
  ContextUse use{.positions = losses_by_position(losses), .recall = {}};
  for (std::int64_t distance = kNearestRecall; 1 + distance + kPassage <= longest; distance *= 2) {
    std::vector<Tensor> long_rows;
    for (const Tensor& row : rows) {
      if (row.size(1) >= 1 + distance + kPassage) long_rows.push_back(row.select(0, 0));
    }
    if (long_rows.size() > 1) use.recall.push_back(recall_at(model, long_rows, distance));
  }
  return use;
}

}  // namespace crope::analysis
