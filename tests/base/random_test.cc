#include "crope/base/random.h"

#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <set>

namespace crope {
namespace {

// The same on every machine and for ever: checkpoints and data orders depend on it.
TEST(RandomStream, FirstValuesAreFixed) {
  const RandomStream stream(1, "test");
  EXPECT_EQ(stream.bits_at(0), RandomStream(1, "test").bits());
  EXPECT_EQ(stream.bits_at(0), 16119787846595199535u);
  EXPECT_EQ(stream.bits_at(1), 116245190953387905u);
}

TEST(RandomStream, NamesAndSeedsAreIndependent) {
  std::set<std::uint64_t> values;
  for (std::uint64_t seed = 0; seed < 100; ++seed) {
    for (const char* name : {"a", "b", "ab", "ba", ""}) values.insert(RandomStream(seed, name).bits());
  }
  EXPECT_EQ(values.size(), 500u);
}

TEST(RandomStream, SeekContinuesWhereItWas) {
  RandomStream stream(7, "x");
  for (int i = 0; i < 10; ++i) stream.below(3);
  RandomStream other(7, "x");
  other.seek(stream.position());
  EXPECT_EQ(stream.bits(), other.bits());
}

TEST(RandomStream, MomentsOfTheDistributions) {
  const RandomStream stream(3, "moments");
  constexpr int kCount = 200'000;
  double uniform_sum = 0, normal_sum = 0, normal_squares = 0, normal_fourth = 0;
  for (int i = 0; i < kCount; ++i) {
    uniform_sum += stream.uniform_at(i);
    const double normal = stream.normal_at(i);
    normal_sum += normal;
    normal_squares += normal * normal;
    normal_fourth += std::pow(normal, 4);
  }
  // Five standard errors.
  EXPECT_NEAR(uniform_sum / kCount, 0.5, 5 * std::sqrt(1.0 / 12 / kCount));
  EXPECT_NEAR(normal_sum / kCount, 0, 5 / std::sqrt(kCount));
  EXPECT_NEAR(normal_squares / kCount, 1, 5 * std::sqrt(2.0 / kCount));
  EXPECT_NEAR(normal_fourth / kCount, 3, 5 * std::sqrt(96.0 / kCount));
}

TEST(RandomStream, BelowIsUniformAndInRange) {
  RandomStream stream(5, "below");
  std::array<int, 6> counts{};
  for (int i = 0; i < 60'000; ++i) ++counts.at(stream.below(6));
  for (const int count : counts) EXPECT_NEAR(count, 10'000, 5 * std::sqrt(10'000 * 5.0 / 6));
  EXPECT_EQ(stream.below(1), 0u);
}

}  // namespace
}  // namespace crope
