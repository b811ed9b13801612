#include "crope/ops/check.h"

#include <gtest/gtest.h>

#include "crope/base/error.h"

namespace crope::ops {
namespace {

TEST(CheckShape, NamesTheOperationWhatWasExpectedAndWhatCame) {
  EXPECT_NO_THROW(check_shape(true, "op", "x", "[T]", torch::Tensor()));
  try {
    check_shape(false, "op", "x", "[T]", at::zeros({2, 3}));
    FAIL() << "nothing was thrown";
  } catch (const Error& e) {
    EXPECT_STREQ(e.what(), "[op] x: expected [T], got [2, 3]");
  }
}

}  // namespace
}  // namespace crope::ops
