#include "crope/analysis/head_study.h"

#include <ATen/ATen.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "crope/analysis/function_space.h"
#include "crope/base/progress.h"

namespace crope::analysis {
namespace {

using torch::Tensor;

bool contains(std::span<const std::int64_t> values, std::int64_t value) {
  return std::ranges::find(values, value) != values.end();
}

std::int64_t largest_place(const double* row, std::int64_t T) {
  return std::max_element(row, row + T) - row;
}

HeadSample sample(HeadKind kind, HeadTask task, const HeadOptions& options) {
  return {kind, task, options, measure_head(make_illustrative_head(kind, task, options), options.mask)};
}

HeadPicture picture(HeadKind kind, HeadTask task, const HeadOptions& options) {
  IllustrativeHead made = make_illustrative_head(kind, task, options);
  const Tensor weights = head_weights(made.head, options.mask).to(at::kDouble).contiguous();
  HeadPicture result{kind, task, std::move(made.token_ids), std::move(made.targets), {}};
  const auto* data = weights.const_data_ptr<double>();
  for (std::int64_t m = 0; m < options.T; ++m) {
    result.weights.emplace_back(data + m * options.T, data + (m + 1) * options.T);
  }
  return result;
}

// The same sequence of positions with the token of type `id` in all places.
Tensor scores_of_one_token(HeadKind kind, std::int64_t id, const HeadOptions& options) {
  IllustrativeHead made = make_illustrative_head(kind, HeadTask::token_dependent, options);
  const auto example = std::ranges::find(made.token_ids, id);
  if (example == made.token_ids.end()) return {};
  const std::int64_t place = example - made.token_ids.begin();
  made.head.tokens = made.head.tokens.narrow(0, place, 1).expand_as(made.head.tokens).contiguous();
  return head_scores(made.head).to(at::kDouble);
}

double interaction_of(HeadKind kind, const HeadOptions& options) {
  const Tensor next = scores_of_one_token(kind, 0, options), nexnext = scores_of_one_token(kind, 1, options);
  if (!next.defined() || !nexnext.defined()) return std::numeric_limits<double>::quiet_NaN();
  const Tensor difference = next - nexnext;
  const Tensor rest = difference - difference.mean(1, true) - difference.mean(0, true) + difference.mean();
  return std::sqrt(rest.square().mean().item<double>() / static_cast<double>(options.D));
}

void study_printed_phases(const HeadOptions& base, HeadStudy& study) {
  HeadOptions options = base;
  options.query_phase = QueryPhase::as_printed;
  const IllustrativeHead made = make_illustrative_head(HeadKind::crope, HeadTask::token_dependent, options);
  study.as_printed = measure_head(made, options.mask);
  study.as_printed_mirrored = 0;
  const Tensor weights = head_weights(made.head, options.mask).to(at::kDouble).contiguous();
  for (std::int64_t m = 0; m < options.T; ++m) {
    const std::int64_t mirrored = m - (made.token_ids[static_cast<std::size_t>(m)] + 1);
    if (mirrored < 0) continue;
    const std::int64_t place = largest_place(weights.const_data_ptr<double>() + m * options.T, options.T);
    study.as_printed_mirrored += place == mirrored;
  }
}

}  // namespace

HeadMeasures measure_head(const IllustrativeHead& made, ops::Mask mask) {
  const ScoresAndWeights output = head_output(made.head, mask);
  const Tensor weights = output.weights.to(at::kDouble).contiguous(),
               scores = output.scores.to(at::kDouble).contiguous();
  const std::int64_t T = weights.size(0);
  const double perfect = std::sqrt(static_cast<double>(made.head.tokens.size(1)));
  HeadMeasures sum;
  std::int64_t rows_with_others = 0;
  for (std::int64_t m = 0; m < T; ++m) {
    const std::vector<std::int64_t>& targets = made.targets[static_cast<std::size_t>(m)];
    if (targets.empty()) continue;
    const double* weight = weights.const_data_ptr<double>() + m * T;
    const double* score = scores.const_data_ptr<double>() + m * T;
    ++sum.rows;
    sum.rows_right += contains(targets, largest_place(weight, T));
    double on_target = 0, elsewhere = 0;
    double target_score = -std::numeric_limits<double>::infinity(), other_score = target_score;
    const std::int64_t end = mask == ops::Mask::causal ? m + 1 : T;
    for (std::int64_t n = 0; n < end; ++n) {
      if (contains(targets, n)) {
        on_target += weight[n];
        target_score = std::max(target_score, score[n]);
      } else {
        elsewhere = std::max(elsewhere, weight[n]);
        other_score = std::max(other_score, score[n]);
      }
    }
    sum.target_weight += on_target;
    sum.largest_elsewhere += elsewhere;
    sum.target_score += target_score / perfect;
    if (std::isfinite(other_score)) {
      sum.elsewhere_score += other_score / perfect;
      ++rows_with_others;
    }
  }
  const double rows = std::max<double>(1, static_cast<double>(sum.rows));
  sum.target_weight /= rows;
  sum.largest_elsewhere /= rows;
  sum.target_score /= rows;
  sum.elsewhere_score /= std::max<double>(1, static_cast<double>(rows_with_others));
  return sum;
}

HeadStudy study_heads(const HeadStudyOptions& options, Log& log) {
  const at::NoGradGuard no_grad;
  HeadStudy study{.options = options};
  const std::uint64_t pairs = kHeadKinds.size() * kHeadTasks.size();
  Progress progress(log, {.label = "examples",
                          .unit = "heads",
                          .total = pairs * (3 + options.widths.size() + options.lengths.size()) +
                                   kAbsoluteTries.size() * options.first_positions.size()});
  std::uint64_t done = 0;
  const auto advance = [&] { progress.update(++done); };
  HeadOptions base = options.head;
  base.mask = ops::Mask::none;
  for (const HeadTask task : kHeadTasks) {
    for (const HeadKind kind : kHeadKinds) {
      for (const ops::Mask mask : {ops::Mask::none, ops::Mask::causal}) {
        HeadOptions here = base;
        here.mask = mask;
        study.samples.push_back(sample(kind, task, here));
        advance();
      }
      HeadOptions small = base;
      small.T = options.picture_length;
      study.pictures.push_back(picture(kind, task, small));
      advance();
      for (const std::int64_t D : options.widths) {
        HeadOptions here = base;
        here.D = D;
        study.by_width.push_back(sample(kind, task, here));
        advance();
      }
      for (const std::int64_t T : options.lengths) {
        HeadOptions here = base;
        here.T = T;
        study.by_length.push_back(sample(kind, task, here));
        advance();
      }
    }
  }
  for (const AbsoluteTry attempt : kAbsoluteTries) {
    for (const std::int64_t first : options.first_positions) {
      study.absolute.push_back({attempt, first, measure_head(make_absolute_try(attempt, base, first), base.mask)});
      advance();
    }
  }
  for (const HeadKind kind : kHeadKinds) study.interaction.push_back(interaction_of(kind, base));
  const IllustrativeHead rope = make_illustrative_head(HeadKind::rope, HeadTask::token_dependent, base);
  study.query_conjugate_share = pauli_energies(ops::dense_matrix(rope.head.q)).conjugate_linear_share();
  study_printed_phases(base, study);
  return study;
}

}  // namespace crope::analysis
