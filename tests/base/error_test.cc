#include "crope/base/error.h"

#include <gtest/gtest.h>

namespace crope {
namespace {

TEST(Error, CarriesMessageAndHint) {
  const UsageError error("what", "do this");
  EXPECT_STREQ(error.what(), "what");
  EXPECT_EQ(error.hint(), "do this");
  EXPECT_TRUE(Error("what").hint().empty());
}

}  // namespace
}  // namespace crope
