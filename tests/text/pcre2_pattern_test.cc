#include "crope/text/pcre2_pattern.h"

#include <gtest/gtest.h>

#include <vector>

#include "crope/base/error.h"

namespace crope::text {
namespace {

std::vector<std::string> matches(const Pcre2Pattern& pattern, const std::string& text) {
  std::vector<std::string> found;
  pattern.for_each_match(text,
                         [&](std::size_t begin, std::size_t end) { found.push_back(text.substr(begin, end - begin)); });
  return found;
}

TEST(Pcre2Pattern, FindsAllMatchesInOrder) {
  EXPECT_EQ(matches(Pcre2Pattern("\\p{L}+"), "ab1é 語"), (std::vector<std::string>{"ab", "é", "語"}));
  EXPECT_EQ(matches(Pcre2Pattern("\\p{L}+"), "12"), std::vector<std::string>{});
  EXPECT_EQ(matches(Pcre2Pattern("a*"), "baa"), std::vector<std::string>{"aa"});
}

TEST(Pcre2Pattern, RefusesABrokenPattern) {
  EXPECT_THROW(Pcre2Pattern("("), Error);
}

TEST(Pcre2Pattern, Gpt2PatternDoesNotTakeTheMongolianSeparatorForSpace) {
  const Pcre2Pattern pattern(gpt2_pattern());
  EXPECT_EQ(matches(pattern, "a\u180E.b"), (std::vector<std::string>{"a", "\u180E.", "b"}));
  EXPECT_EQ(matches(pattern, "I'll  go\n"), (std::vector<std::string>{"I", "'ll", " ", " go", "\n"}));
}

}  // namespace
}  // namespace crope::text
