#include "crope/text/compose.h"

#include <gtest/gtest.h>

namespace crope::text {
namespace {

TEST(Compose, JoinsLettersAndTheirMarks) {
  EXPECT_EQ(compose("e\xCC\x81"), "\xC3\xA9");
  EXPECT_EQ(compose("plain"), "plain");
  EXPECT_EQ(compose("\xC3\xA9 \xE6\x97\xA5"), "\xC3\xA9 \xE6\x97\xA5");
}

TEST(Compose, LeavesWhatIsNotUtf8) {
  EXPECT_EQ(compose("\xFF"
                    "e\xCC\x81"),
            "\xFF"
            "e\xCC\x81");
}

}  // namespace
}  // namespace crope::text
