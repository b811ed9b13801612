#include "crope/base/stopwatch.h"

#include <gtest/gtest.h>

#include <thread>

namespace crope {
namespace {

TEST(StopwatchTest, CountsFromItsConstructionAndNeverBackwards) {
  const Stopwatch watch;
  const double first = watch.seconds();
  std::this_thread::sleep_for(std::chrono::milliseconds(20));
  const double second = watch.seconds();
  EXPECT_GE(first, 0);
  EXPECT_GE(second - first, 0.02);
}

TEST(StopwatchTest, TimesOneCall) {
  int calls = 0;
  const double seconds = seconds_of([&] {
    ++calls;
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
  });
  EXPECT_EQ(calls, 1);
  EXPECT_GE(seconds, 0.02);
}

}  // namespace
}  // namespace crope
