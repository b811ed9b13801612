#include "crope/data/world_draw.h"

#include <gtest/gtest.h>
