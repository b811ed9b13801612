#include "crope/data/world_draw.h"

#include <gtest/gtest.h>

#include <cmath>
#include <set>
#include <string>

namespace crope::data {
namespace {

TEST(WorldDraw, AFingerprintKnowsWhatBelongsTogetherAndNotTheOrder) {
  Fingerprint one("rooms"), other("rooms"), swapped("rooms"), kind("race");
  one.add({"Mia", "barn"});
  one.add({"Tom", "mill"});
  other.add({"Tom", "mill"});
  other.add({"Mia", "barn"});
  swapped.add({"Mia", "mill"});
  swapped.add({"Tom", "barn"});
  kind.add({"Mia", "barn"});
  kind.add({"Tom", "mill"});
  EXPECT_EQ(one.value(), other.value());
  EXPECT_NE(one.value(), swapped.value());
  EXPECT_NE(one.value(), kind.value());
}

TEST(WorldDraw, OneInEightIsHeldOut) {
  constexpr int kCount = 20000;
  int held_out = 0;
  for (int i = 0; i < kCount; ++i) {
    Fingerprint print("kind");
    print.add({std::to_string(i)});
    held_out += print.side() == Side::benchmark;
  }
  const double share = static_cast<double>(held_out) / kCount;
  EXPECT_NEAR(share, 1.0 / 8, 3 * std::sqrt(1.0 / 8 * 7.0 / 8 / kCount));
}

TEST(WorldDraw, ADeckHandsOutEachWordOnce) {
  RandomStream random(3, "test");
  Deck deck(Pool::day, random);
  std::set<std::string_view> days;
  for (std::size_t i = 0; i < words_of(Pool::day).size(); ++i) days.insert(deck.take()->text);
  EXPECT_EQ(days.size(), words_of(Pool::day).size());
}

TEST(WorldDraw, FactsDrawnTogetherDiffer) {
  RandomStream random(3, "test");
  for (int i = 0; i < 200; ++i) {
    std::set<std::string_view> subjects, properties;
    for (const Fact* fact : draw_facts(Relation::food_group, random)) {
      subjects.insert(fact->subject.text);
      properties.insert(fact->property.text);
    }
    EXPECT_EQ(subjects.size(), 4u);
    EXPECT_EQ(properties.size(), 4u);
  }
}

TEST(WorldDraw, BetweenReachesBothEnds) {
  RandomStream random(3, "test");
  std::set<int> seen;
  for (int i = 0; i < 200; ++i) seen.insert(between(2, 5, random));
  EXPECT_EQ(seen, (std::set<int>{2, 3, 4, 5}));
}

}  // namespace
}  // namespace crope::data
