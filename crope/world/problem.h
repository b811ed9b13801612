// Word problems with worked answers, as GSM8K has them: one or two calculations with small numbers.
#pragma once

#include <string>

#include "crope/world/draw.h"

namespace crope::world {

struct Problem {
  std::string question;  // "Nora has 15 dolls. She gives 5 of them to Zoe. How many dolls does Nora have left?"
  std::string answer;    // "Nora has 15 - 5 = 10 dolls left.\n#### 10"
  Fingerprint fingerprint;
};

Problem draw_problem(RandomStream& random);

}  // namespace crope::world
