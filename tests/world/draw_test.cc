#include "crope/world/draw.h"

#include <gtest/gtest.h>

#include <map>
#include <set>
#include <string>

namespace crope::world {
namespace {

Fingerprint print_of(std::initializer_list<std::initializer_list<std::string_view>> facts) {
  Fingerprint print;
  for (const auto& fact : facts) print.add(fact);
  return print;
}

TEST(Fingerprint, DependsOnTheFactsAndNotOnTheirOrder) {
  EXPECT_EQ(print_of({{"fruit", "pear"}, {"fish", "eel"}}).value(),
            print_of({{"fish", "eel"}, {"fruit", "pear"}}).value());
  EXPECT_NE(print_of({{"fruit", "pear"}, {"fish", "eel"}}).value(),
            print_of({{"fruit", "eel"}, {"fish", "pear"}}).value());
  EXPECT_NE(print_of({{"ab", "c"}}).value(), print_of({{"a", "bc"}}).value());
}

TEST(Fingerprint, OneInEightIsKeptForTheBenchmarks) {
  int kept = 0;
  constexpr int kDraws = 8000;
  for (int i = 0; i < kDraws; ++i) {
    const std::string number = std::to_string(i);
    kept += print_of({{"number", number}}).side() == Side::benchmark ? 1 : 0;
  }
  EXPECT_NEAR(kept, kDraws / 8, 120);  // four standard deviations
}

TEST(Draw, ASampleHasDifferentElements) {
  RandomStream random(1, "test");
  const std::array<int, 5> numbers = {1, 2, 3, 4, 5};
  std::set<int> first;
  for (int i = 0; i < 200; ++i) {
    const std::vector<int> drawn = sample(std::span<const int>(numbers), 3, random);
    ASSERT_EQ(drawn.size(), 3u);
    EXPECT_EQ(std::set<int>(drawn.begin(), drawn.end()).size(), 3u);
    first.insert(drawn[0]);
  }
  EXPECT_EQ(first.size(), 5u) << "every element comes first at some time";
}

TEST(Draw, WordsAreGradedInTrainingAndEqualInBenchmarks) {
  RandomStream random(1, "test");
  const std::array<std::string_view, 3> words = {"common", "rare", "rarest"};
  std::map<std::string_view, int> training, benchmark;
  for (int i = 0; i < 9000; ++i) {
    ++training[pick_word(words, Side::training, random)];
    ++benchmark[pick_word(words, Side::benchmark, random)];
  }
  EXPECT_NEAR(training["common"], 6000, 180);  // four standard deviations
  EXPECT_NEAR(training["rare"], 2000, 160);
  EXPECT_NEAR(training["rarest"], 1000, 120);
  for (const auto& [word, count] : benchmark) EXPECT_NEAR(count, 3000, 180) << word;
}

TEST(Draw, NumbersStayInTheirRangeAndReachItsEnds) {
  RandomStream random(1, "test");
  std::set<int> seen;
  for (int i = 0; i < 300; ++i) seen.insert(between(-1, 2, random));
  EXPECT_EQ(seen, (std::set<int>{-1, 0, 1, 2}));
}

}  // namespace
}  // namespace crope::world
