// Multiple-choice items about the kinds that words name. Each offers one word of each of four kinds, so that knowing
// the words, and which of them is asked about, is needed; the surface of an item gives its answer away in neither
// family.
#pragma once

#include <array>
#include <cstddef>
#include <string>
#include <string_view>

#include "crope/world/draw.h"
#include "crope/world/words.h"

namespace crope::world {

struct Item {
  std::string_view family;    // "naming" or "sorting"
  std::string_view activity;  // label of HellaSwag's form
  std::string_view subject;
  std::string context;         // "Zoe wrote twelve, Wednesday, August and Mars."
  std::string question;        // "Of which kind is the word that is not Mars, August or twelve, but Wednesday?"
  std::string short_question;  // "Of which kind is the word Wednesday?"
  std::string stem;            // "the word that is not Mars, August or twelve, but Wednesday, is of the kind"
  std::string short_stem;      // "the word Wednesday is of the kind"
  std::array<std::string, kChoices> choices;
  std::size_t answer = 0;
  Fingerprint fingerprint;
};

// `side` decides how words are drawn (pick_word), not the side of the fingerprint.
//
// Asks of which kind a word is. The choices are the subject's kinds in the order of the alphabet, so `answer` decides
// which of the words is asked about.
Item draw_naming(const Subject& subject, std::size_t answer, Side side, RandomStream& random);

// Which of four words is of a kind? The words stand among the choices in random order, the right one at `answer`.
Item draw_sorting(const Subject& subject, std::size_t answer, Side side, RandomStream& random);

}  // namespace crope::world
