// Rotary frequencies of models whose context was stretched after training (docs/mathematics.md, section 3).
#pragma once

#include <cstdint>
#include <vector>

#include "crope/base/choice.h"

namespace crope::ops {

// How the frequencies theta_j = base^(-2j/K) are stretched by `factor`. Names and formulas are Hugging Face's.
enum class RopeStretch {
  none,
  linear,   // theta_j / factor
  dynamic,  // NTK-aware: a larger base, so that the slowest frequency is divided by the whole stretch, the fastest by 1
  yarn,     // slow frequencies are divided, fast ones stay, with a ramp over j between them; scores are sharpened
  llama3,   // the same by wavelength, with a ramp in 1/wavelength
};

}  // namespace crope::ops

template <>
struct crope::ChoiceNames<crope::ops::RopeStretch> {
  using Kind = ops::RopeStretch;
  static constexpr auto kNames = choice_names<Kind>({{Kind::none, "default"},
                                                     {Kind::linear, "linear"},
                                                     {Kind::dynamic, "dynamic"},
                                                     {Kind::yarn, "yarn"},
                                                     {Kind::llama3, "llama3"}});
};

namespace crope::ops {

struct RopeScaling {
  Choice<RopeStretch> type = RopeStretch::none;
  double factor = 1;
  std::int64_t original_length = 0;  // positions the model was trained with; 0: the model's window

  double attention_factor = 0;  // yarn: on cos and sin alike; 0: 0.1 ln(factor) + 1
  double beta_fast = 32;        // yarn: pairs that turn more often within original_length stay as they are
  double beta_slow = 1;         // yarn: pairs that turn less often are divided by factor
  bool truncate = true;         // yarn: the ramp begins and ends at whole pairs

  double low_freq_factor = 1;   // llama3: wavelengths above original_length / this are divided by factor
  double high_freq_factor = 4;  // llama3: wavelengths below original_length / this stay as they are

  bool operator==(const RopeScaling&) const = default;
};

// theta_j of the K/2 pairs of a head, for a model whose window has `window` positions. With `dynamic`, which Hugging
// Face computes again as a text grows, they are those of a text that fills the window.
// REQUIRES: K even and positive; base, factor, original_length or window positive.
std::vector<double> rope_frequencies(std::int64_t K, double base, const RopeScaling& scaling, std::int64_t window);

// The factor of cos and sin.
double rope_amplitude(const RopeScaling& scaling);

}  // namespace crope::ops
