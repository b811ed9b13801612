// Stories about which kind of thing a word names: the four kinds of a subject are the choices, always in the order of
// the alphabet. What each word names has to be known; which word is asked about is known from its place in the
// sentence.
#pragma once

#include "crope/data/world_sorting.h"

namespace crope::data {

// The kinds that words of a subject are named by, in the order of the alphabet: all of its categories but the last.
std::span<const Category* const> named_categories(const SortingKind& kind);

// "Of which kind is the word pear?"
std::string naming_question(const Phrase& word);

// Somebody writes four words down, one of each kind. Each question has all four words and asks about one of them, so
// that no word of the context stands closer to one choice than to another.
Story draw_naming(const SortingKind& kind, RandomStream& random);

}  // namespace crope::data
