// Stories about what a word names: four words of four categories, and a question for the one that is a colour. What
// each word names is known from elsewhere; which category is asked for is known from the place in the sentence alone.
#pragma once

#include "crope/data/world_story.h"

namespace crope::data {

// A family of words: red, blue and green are colours.
struct Category {
  Phrase name;  // "colour"
  std::span<const Phrase> members;
};

// The categories that stories of a subject have words of: at least five, with no word in two of them, the first four in
// the order of the alphabet. Every subject that a story has is one of these.
struct SortingKind {
  std::string_view subject;  // "nutrition"
  std::vector<const Category*> categories;
};

std::span<const SortingKind> sorting_kinds();

// Every category of every subject, once.
std::span<const Category> categories();

// The places but `place`, from `order` shuffled: what a question denies.
std::array<std::size_t, kChoices - 1> draw_denied(std::array<std::size_t, kChoices> order, std::size_t place,
                                                  RandomStream& random);

// Somebody writes four words down. Each question names all four categories and asks for one of them, so that no word
// of the context stands closer to one choice than to another.
Story draw_sorting(const SortingKind& kind, RandomStream& random);

}  // namespace crope::data
