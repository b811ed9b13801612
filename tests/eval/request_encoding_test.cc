#include "crope/eval/request_encoding.h"

#include <gtest/gtest.h>

#include "crope/base/error.h"
#include "crope/text/bpe_trainer.h"
#include "crope/text/vocabulary.h"

namespace crope::eval {
namespace {

using Ids = std::vector<std::int32_t>;

TEST(RollingWindows, EveryTokenOnceAsLmEvalCutsThem) {
  const Ids tokens = {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11};
  const auto windows = rolling_windows(tokens, 0, 4);
  ASSERT_EQ(windows.size(), 3u);
  EXPECT_EQ(windows[0].context, Ids{0});
  EXPECT_EQ(windows[0].continuation, (Ids{1, 2, 3, 4}));
  EXPECT_EQ(windows[1].context, Ids{4});
  EXPECT_EQ(windows[1].continuation, (Ids{5, 6, 7, 8}));
  EXPECT_EQ(windows[2].context, (Ids{7, 8}));
  EXPECT_EQ(windows[2].continuation, (Ids{9, 10, 11}));
  EXPECT_EQ(rolling_windows(std::span(tokens).first(3), 0, 4).size(), 1u);
  EXPECT_TRUE(rolling_windows({}, 0, 4).empty());
}

}  // namespace
}  // namespace crope::eval
