// A small grammar: patterns with slots become sentences, with articles, plurals, pronouns and capitals right.
#pragma once

#include <initializer_list>
#include <span>
#include <string>
#include <string_view>

#include "crope/data/world_tables.h"

namespace crope::data {

// What stands in a slot: a phrase or, with no phrase, a number.
struct Slot {
  std::string_view name;
  const Phrase* phrase = nullptr;
  int number = 0;
};

enum class Start {
  sentence,  // the first letter becomes a capital
  fragment,  // it stays as it is
};

// Appends `pattern` to `out` with each slot in braces filled. After ". ", "? " and "! " a capital follows.
//
//   {x}        the phrase, or the number in digits
//   {x:a}      with "a" or "an"         {x:the}  with "the"        {x:s}  its plural
//   {x:at}     a place with its preposition: "in the kitchen"
//   {x:he} {x:him} {x:his}              the pronoun in that case
//   {n x}      a number and what it counts: "1 ball", "3 balls"
//   {n:is}     "is" or "are" to agree with the number
//
// Throws Error naming the pattern if it asks for a slot or a form that there is not.
void expand(std::string_view pattern, std::span<const Slot> slots, Start start, std::string& out);

std::string expand(std::string_view pattern, std::initializer_list<Slot> slots, Start start);

// "a" or "an", as the sound of the word asks.
std::string_view article(std::string_view word);

// Appends `text` with its first letter as a capital.
void append_capitalised(std::string_view text, std::string& out);

}  // namespace crope::data
