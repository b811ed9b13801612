#include "crope/base/interrupt.h"

#include <gtest/gtest.h>
#include <signal.h>

#include "crope/base/error.h"

namespace crope {
namespace {

TEST(Interrupt, TheFirstSignalOnlySetsAFlag) {
  for (const int signal : {SIGINT, SIGTERM}) {
    EXPECT_FALSE(interrupt_requested());
    {
      const InterruptScope scope;
      throw_if_interrupted();
      raise(signal);
      EXPECT_TRUE(interrupt_requested());
      try {
        throw_if_interrupted();
        ADD_FAILURE() << "not interrupted";
      } catch (const Interrupted& e) {
        EXPECT_EQ(e.signal(), signal);
      }
    }
    EXPECT_FALSE(interrupt_requested());
  }
}

TEST(Interrupt, TheSecondSignalEndsTheProcess) {
  EXPECT_EXIT(
      {
        const InterruptScope scope;
        raise(SIGINT);
        raise(SIGINT);
      },
      testing::KilledBySignal(SIGINT), "");
}

}  // namespace
}  // namespace crope
