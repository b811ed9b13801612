// Stories of the kinds in world_kinds.h: four bindings, told, perhaps changed, and asked for.
#pragma once

#include "crope/data/world_kinds.h"
#include "crope/data/world_story.h"

namespace crope::data {

// On whichever side it falls. The questions are one for each key, and paired.
Story draw_bindings(const StoryKind& kind, RandomStream& random);

}  // namespace crope::data
