// Stories about things with labels: card A has a food, the pear, and card C has a beast, the dog. One may ask for the
// label of a kind of thing, and the choices stand in the order of the labels, as under a picture; or for the thing with a
// label. Both take one look back, from what is asked for to what stands beside it: a small model learns this early.
#pragma once

#include <span>
#include <string_view>

#include "crope/data/world_story.h"

namespace crope::data {

struct LabelKind {
  std::string_view name;      // "cards"
  std::string_view activity;  // "Playing cards"
  std::string_view subject;   // "formal_logic"
  Phrase holder;              // "card"
};

// One for each subject that a story has.
std::span<const LabelKind> label_kinds();

// One story with two sets of questions, each of the four in the order of the labels.
struct LabelStories {
  Story labels;  // asks "Which card has the food?"
  Story things;  // asks "What is on card A?"
};

// Four things and their labels, on whichever side it falls.
LabelStories draw_labels(const LabelKind& kind, RandomStream& random);

}  // namespace crope::data
