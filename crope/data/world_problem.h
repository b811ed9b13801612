// Word problems with worked answers: counting and the four operations on small numbers.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "crope/data/world_story.h"

namespace crope::data {

struct Problem {
  std::string_view kind;
  std::string text;                // "Mia has 3 balls. Tom gives her 4 more."
  std::string question;            // "How many balls does Mia have now?"
  std::vector<std::string> steps;  // "Mia has 3 + 4 = 7 balls now.", one calculation each
  int answer = 0;                  // positive
  Fingerprint fingerprint;
};

Problem draw_problem(Side side, RandomStream& random);

// The steps, one a line, and then "#### 7", as GSM8K writes them.
std::string worked_answer(const Problem& problem);

// A problem as a story with four numbers to choose from. None of the numbers is in the text, and the answer is as
// often the smallest of the four as it is the largest. On whichever side it falls.
Story draw_counting(RandomStream& random);

}  // namespace crope::data
