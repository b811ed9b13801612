// Plain reading matter without questions: a day in the life of three people, a game of two, and short
// essays about the world.
#pragma once

#include <string>

#include "crope/base/random.h"

namespace crope::data {

// One paragraph about a day: people walk about, find things, give them away and put them down; at the end it is said
// where everything is. All of it is consistent: nobody gives what they do not have, or to somebody elsewhere.
std::string tell_day(RandomStream& random);

// One paragraph about two people with family names and their coloured toys, each named in full again and again: who
// has read a name once can end it the next time.
std::string tell_game(RandomStream& random);

// One paragraph that states facts about one topic.
std::string tell_facts(RandomStream& random);

}  // namespace crope::data
