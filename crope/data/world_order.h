// Stories about order: who is the tallest, who is the oldest, what comes next.
#pragma once

#include "crope/data/world_story.h"

namespace crope::data {

// Four people compared in pairs, each named twice. Asks for both ends of the scale.
Story draw_comparison(RandomStream& random);

// Four people and their ages, all different. Asks for both ends.
Story draw_ages(RandomStream& random);

// Five things one after the other. Asks what stands right before or after one of them.
Story draw_neighbours(RandomStream& random);

}  // namespace crope::data
