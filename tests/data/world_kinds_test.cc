#include "crope/data/world_kinds.h"

#include <gtest/gtest.h>

#include <set>

namespace crope::data {
namespace {

TEST(WorldKinds, NamesDiffer) {
  std::set<std::string_view> names;
  for (const StoryKind& kind : story_kinds()) EXPECT_TRUE(names.insert(kind.name).second) << kind.name;
}

TEST(WorldKinds, EveryColumnComesFromAPoolOrAFact) {
  for (const StoryKind& kind : story_kinds()) {
    EXPECT_EQ(kind.tie == Tie::none, kind.relation == Relation::none) << kind.name;
    EXPECT_EQ(kind.key == Pool::none, kind.tie == Tie::key_link) << kind.name;
    EXPECT_EQ(kind.value == Pool::none, kind.tie == Tie::link_value) << kind.name;
    EXPECT_TRUE(kind.tie == Tie::none || kind.link == Pool::none) << kind.name;
  }
}

TEST(WorldKinds, EveryKindIsToldAndAsked) {
  for (const StoryKind& kind : story_kinds()) {
    EXPECT_NE(kind.tell.empty(), kind.list.empty()) << kind.name;
    EXPECT_FALSE(kind.question.empty()) << kind.name;
    EXPECT_FALSE(kind.stem.empty()) << kind.name;
    EXPECT_NE(kind.key == Pool::ordinal, kind.list.empty()) << kind.name << ": a list tells what has a place in it";
  }
}

}  // namespace
}  // namespace crope::data
