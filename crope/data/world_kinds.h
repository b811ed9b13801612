// The kinds of story there are, as data: what is bound to what, and in which words it is told and asked.
#pragma once

#include <span>
#include <string_view>
#include <vector>

#include "crope/data/world_tables.h"

namespace crope::data {

// Which two columns of a story a fact of the world ties together.
enum class Tie {
  none,
  key_link,    // the key is the property of the link
  link_value,  // the value is the property of the link
};

// A story of four parallel bindings key -> value, where the reader may have to go over a link. The four values are
// the choices of every question, and each is the answer for one of the four keys: whoever does not look at the key
// asked for, and at what the story binds to it, is right once in four.
//
// Patterns have the slots {key} {link} {value} of the binding at hand, {actor} (a person who acts in it), {old} (the
// value before a change), {from} (the key that had the new value before), {v1} to {v4} (the values in the order of
// the keys), and {who} {thing} {deed} of the whole story. The patterns of one list are told as alternatives.
struct StoryKind {
  using Patterns = std::vector<std::string_view>;

  std::string_view name;      // "rooms"
  std::string_view activity;  // what HellaSwag calls it: "Walking around"
  std::string_view subject;   // what MMLU calls it: "miscellaneous"
  Pool key = Pool::none;      // none: comes from the fact that ties it
  Pool link = Pool::none;
  Pool value = Pool::none;
  Tie tie = Tie::none;
  Relation relation = Relation::none;
  Patterns opening = {};  // said first; may be none
  Patterns list = {};     // tells all four bindings at once, instead of `tell`
  Patterns tell = {};     // one for each binding
  Patterns then = {};     // another for each binding, after all of `tell`
  Patterns change = {};   // one for each binding whose value changes; none: nothing changes
  Patterns question = {};
  Patterns stem = {};  // the beginning of a sentence that `answer` ends; the first one bears a repetition
  std::string_view answer = "{value}";
};

std::span<const StoryKind> story_kinds();

}  // namespace crope::data
