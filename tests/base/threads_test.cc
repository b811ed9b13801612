#include "crope/base/threads.h"

#include <gtest/gtest.h>
#include <sched.h>

#include "crope/base/error.h"

namespace crope {
namespace {

TEST(Threads, FollowTheAffinityMask) {
  EXPECT_GE(available_processors(), 1);
  cpu_set_t before, one;
  ASSERT_EQ(sched_getaffinity(0, sizeof(before), &before), 0);
  CPU_ZERO(&one);
  for (int cpu = 0; cpu < CPU_SETSIZE; ++cpu) {
    if (CPU_ISSET(cpu, &before)) {
      CPU_SET(cpu, &one);
      break;
    }
  }
  ASSERT_EQ(sched_setaffinity(0, sizeof(one), &one), 0);
  EXPECT_EQ(available_processors(), 1);
  sched_setaffinity(0, sizeof(before), &before);
}

TEST(Threads, ZeroMeansAll) {
  EXPECT_EQ(resolve_thread_count(0), available_processors());
  EXPECT_EQ(resolve_thread_count(3), 3);
  EXPECT_THROW(resolve_thread_count(-1), UsageError);
  EXPECT_THROW(resolve_thread_count(1'000'000), UsageError);
}

}  // namespace
}  // namespace crope
