// The heads of section "Illustrative Example" and the appendix, with the weights that the paper works out. Queries and
// keys are scaled to a root mean square of one, as QK-norm does with gains of one, so that a perfect match scores
// sqrt(D).
#pragma once

#include <array>
#include <cstdint>
#include <string_view>
#include <vector>

#include "crope/analysis/constructed_head.h"

namespace crope::analysis {

enum class HeadTask {
  same_token,          // attend to equal tokens
  same_position,       // attend to near positions; the embedding has a bias b_e
  same_position_free,  // the same without a bias: a constant is read off the tokens
  token_dependent,     // "next" attends to i + 1, "nexnext" to i + 2; i - 1 and i - 2 under the causal mask
};

inline constexpr std::array kHeadTasks = {HeadTask::same_token, HeadTask::same_position, HeadTask::same_position_free,
                                          HeadTask::token_dependent};

constexpr std::string_view head_task_name(HeadTask task) {
  constexpr std::array<std::string_view, 4> names = {"same_token", "same_position", "same_position_without_bias",
                                                     "token_dependent_position"};
  return names[static_cast<std::size_t>(task)];
}

// The sign of the phases of the token-dependent query. Eq. delta-rope drops a dagger: with the scores of Eq. pe-crope
// its e^{-i theta} looks back, not ahead (docs/mathematics.md, section 3).
enum class QueryPhase { corrected, as_printed };

struct HeadOptions {
  std::int64_t D = 1024;
  std::int64_t T = 64;
  ops::Mask mask = ops::Mask::none;
  double rope_theta = 5000;
  std::uint64_t seed = 0;
  QueryPhase query_phase = QueryPhase::corrected;
};

struct IllustrativeHead {
  ConstructedHead head;
  std::vector<std::int64_t> token_ids;             // [T]; of token_dependent 0 is "next" and 1 "nexnext"
  std::vector<std::vector<std::int64_t>> targets;  // the positions that each row should attend to; may be none
};

// Throws UsageError unless D is a positive multiple of 16 and T is positive.
IllustrativeHead make_illustrative_head(HeadKind kind, HeadTask task, const HeadOptions& options);

// Three tries at token_dependent with absolute positions, which have no weights of the paper's to follow. Tokens and
// positions have dimensions of their own, so nothing disturbs what the head reads.
enum class AbsoluteTry {
  own_position,  // the query of rope, e^{i s theta} of the token, added to the own position: what
                 // make_illustrative_head gives
  always_next,   // the own position turned by one step: relative, but deaf to the token
  tilt,          // turned by a step and a half, and a slope over all positions, up or down by the token
};

inline constexpr std::array kAbsoluteTries = {AbsoluteTry::own_position, AbsoluteTry::always_next, AbsoluteTry::tilt};

constexpr std::string_view absolute_try_name(AbsoluteTry attempt) {
  constexpr std::array<std::string_view, 3> names = {"own_position", "always_next", "tilt"};
  return names[static_cast<std::size_t>(attempt)];
}

// The sequence takes positions first_position, first_position + 1, ….
IllustrativeHead make_absolute_try(AbsoluteTry attempt, const HeadOptions& options, std::int64_t first_position = 0);

}  // namespace crope::analysis
