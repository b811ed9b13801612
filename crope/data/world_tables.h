// What there is in the small world: its people, places and things, and what is true of them. Data only; how words
// become sentences is in world_grammar.h.
#pragma once

#include <cstddef>
#include <span>
#include <string_view>

namespace crope::data {

enum class Pronoun { it, she, he };

// A word, or a group of words that stand together, as the grammar inflects it.
struct Phrase {
  std::string_view text;         // "ball", "Mia", "an apple"
  std::string_view plural = {};  // "balls"; empty where nobody counts it
  std::string_view at = {};      // of a place, with its preposition: "in the kitchen"
  Pronoun pronoun = Pronoun::it;
};

// Where the words of a column of a story come from.
enum class Pool {
  none,
  person,
  place,
  thing,
  container,
  animal,
  colour,
  day,
  time,
  weather,
  ordinal,
  trade,
  family,
  letter,
  tool,
  shape,
  toy,
  beast,
  land,
  clothing,
  food
};

// The pool's words; ordinals and letters in their order. Each has at least four.
std::span<const Phrase> words_of(Pool pool);

// What is true of something, apart from any story: a cow (subject) gives milk (property).
struct Fact {
  Phrase subject;
  Phrase property;
};

// Tables of facts. Within a table no two subjects are equal, but properties may be: apples and plums are fruits.
enum class Relation { none, effect, food_group, sky, landscape, animal_use, animal_sound, opposite_way, next_day };
inline constexpr std::size_t kRelationCount = 9;

std::span<const Fact> facts_of(Relation relation);

// Patterns of {subject} and {property} that state a fact of the relation outside any story.
std::span<const std::string_view> statements_of(Relation relation);

// What the relation is about: "the days of the week".
std::string_view topic_of(Relation relation);

// What one does to another, as active past and passive participle are written: "helped".
std::span<const Phrase> deeds();

// A quality by which people or things are put in order, from both ends.
struct Scale {
  std::string_view more;   // "taller"
  std::string_view less;   // "shorter"
  std::string_view most;   // "tallest"
  std::string_view least;  // "shortest"
};
std::span<const Scale> scales();

// What happens to somebody and what comes of it: "{who} was hungry" and "so {who:he} ate an apple".
struct Cause {
  std::string_view cause;
  std::string_view effect;
};
std::span<const Cause> causes();

}  // namespace crope::data
