// The task of Figure toyproblem, learned: one attention layer reads random tokens, and at each position names the token
// one ("next") or two ("nexnext") positions further.
#pragma once

#include <array>
#include <cstdint>
#include <string_view>
#include <vector>

#include "crope/base/log.h"

namespace crope::analysis {

enum class ToyKind {
  absolute,   // fixed sinusoids added to the tokens
  relative,   // Eq. pe-rel with a learned vector for each distance
  rope,       // dense projections
  crope,      // complex-linear Q, K and V
  half_rope,  // dense projections to half the width: as many parameters as crope
};

inline constexpr std::array kToyKinds = {ToyKind::absolute, ToyKind::relative, ToyKind::rope, ToyKind::crope,
                                         ToyKind::half_rope};

constexpr std::string_view toy_kind_name(ToyKind kind) {
  constexpr std::array<std::string_view, 5> names = {"absolute", "relative", "rope", "crope", "half_rope"};
  return names[static_cast<std::size_t>(kind)];
}

struct ToyOptions {
  std::int64_t D = 64;
  std::int64_t T = 24;
  std::int64_t num_contents = 8;  // a token is one of these, and "next" or "nexnext"
  std::int64_t batch_size = 32;
  std::int64_t steps = 240;
  std::int64_t evaluate_every = 10;
  std::int64_t evaluation_rows = 128;
  double lr = 5e-3;
  double rope_theta = 5000;
  std::vector<std::uint64_t> seeds = {0, 1, 2};
  // After training on positions 0 to T - 1, the same sequences at other places. Distances do not change.
  std::vector<std::int64_t> first_positions = {0, 32, 512, 4096};
};

struct ToyRun {
  ToyKind kind;
  std::int64_t D;
  std::uint64_t seed;
  std::int64_t parameters;             // of Q, K and V, and of learned positions
  std::vector<std::int64_t> steps;     // finished when accuracy was measured
  std::vector<double> accuracy;        // of rows that have an answer, on sequences never trained on
  std::vector<double> moved_accuracy;  // of each of first_positions
};

// A fair chance to guess is 1/num_contents. Throws UsageError unless the sizes make sense (D a multiple of 8).
ToyRun train_toy(ToyKind kind, std::uint64_t seed, const ToyOptions& options);

// Every kind at every width with every seed; progress goes to `log`.
std::vector<ToyRun> study_toy_task(const ToyOptions& options, const std::vector<std::int64_t>& widths, Log& log);

}  // namespace crope::analysis
