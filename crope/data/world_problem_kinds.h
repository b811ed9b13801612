// The kinds of word problem there are, as data: what is given, what is asked, and the calculations that lead there.
#pragma once

#include <span>
#include <string_view>
#include <vector>

namespace crope::data {

// Both ends included.
struct Range {
  int low, high;
};

// One calculation. The operands are 'a', 'b', 'c' (given), 'r' (the result of the step before) or a digit.
struct Step {
  char left, operation, right;
  std::string_view text;  // {x} and {y} are the operands, {r} the result
};

struct ProblemKind {
  std::string_view name;
  // {a} {b} {c} are given; {who} {other} {thing} {box} {animal} {beast} are drawn; {cent} {page} {year} {day} and
  // {creature} are themselves.
  std::string_view text;
  std::string_view question;
  std::string_view stem;    // begins the sentence that `answer` ends
  std::string_view answer;  // of {r}
  Range a, b, c;
  std::vector<Step> steps;
};

std::span<const ProblemKind> problem_kinds();

}  // namespace crope::data
