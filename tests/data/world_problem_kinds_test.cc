#include "crope/data/world_problem_kinds.h"

#include <gtest/gtest.h>

#include <set>

namespace crope::data {
namespace {

TEST(WorldProblemKinds, NamesDiffer) {
  std::set<std::string_view> names;
  for (const ProblemKind& kind : problem_kinds()) EXPECT_TRUE(names.insert(kind.name).second) << kind.name;
}

TEST(WorldProblemKinds, StepsCalculateWithWhatThereIs) {
  for (const ProblemKind& kind : problem_kinds()) {
    ASSERT_FALSE(kind.steps.empty()) << kind.name;
    for (const Step& step : kind.steps) {
      EXPECT_NE(std::string_view("+-*/").find(step.operation), std::string_view::npos) << kind.name;
      for (const char operand : {step.left, step.right}) {
        EXPECT_NE(std::string_view("abcr23456789").find(operand), std::string_view::npos) << kind.name;
      }
    }
    EXPECT_TRUE(kind.steps[0].left != 'r' && kind.steps[0].right != 'r') << kind.name << ": no result yet";
  }
}

TEST(WorldProblemKinds, NumbersGivenAreTwoOrMore) {
  for (const ProblemKind& kind : problem_kinds()) {
    for (const Range range : {kind.a, kind.b, kind.c}) {
      EXPECT_LE(range.low, range.high) << kind.name;
      EXPECT_TRUE(range.low >= 2 || (range.low == 0 && range.high == 0)) << kind.name << ": plurals are written out";
    }
  }
}

}  // namespace
}  // namespace crope::data
