#include "crope/eval/python_random.h"

#include <gtest/gtest.h>

namespace crope::eval {
namespace {

using Places = std::vector<std::size_t>;

// What random.Random(1234) of CPython gives, call after call: pools that are copied and pools that are not.
TEST(PythonRandom, SamplesAsPythonDoes) {
  PythonRandom random(1234);
  EXPECT_EQ(random.sample(7473, 5), (Places{6374, 3610, 957, 61, 742}));
  EXPECT_EQ(random.sample(7473, 5), (Places{7462, 6610, 4769, 286, 5501}));
  EXPECT_EQ(random.sample(7473, 5), (Places{5677, 687, 806, 6279, 2905}));
  EXPECT_EQ(random.sample(10, 3), (Places{3, 0, 8}));
  EXPECT_EQ(random.sample(90, 8), (Places{2, 44, 82, 79, 61, 78, 59, 19}));
  EXPECT_EQ(random.sample(40000, 6), (Places{5982, 11999, 7498, 958, 32970, 31899}));
  EXPECT_EQ(random.sample(5, 0), Places{});
}

TEST(PythonRandom, AWholePopulationIsAPermutation) {
  PythonRandom random(7);
  Places drawn = random.sample(12, 12);
  std::sort(drawn.begin(), drawn.end());
  for (std::size_t i = 0; i < drawn.size(); ++i) EXPECT_EQ(drawn[i], i);
}

}  // namespace
}  // namespace crope::eval
