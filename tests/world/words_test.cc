#include "crope/world/words.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <set>

namespace crope::world {
namespace {

TEST(Words, EveryWordNamesOneKindOnly) {
  std::set<std::string_view> seen;
  for (const Kind& kind : kinds()) {
    EXPECT_GE(kind.words.size(), 7u) << kind.name;
    for (const std::string_view word : kind.words) EXPECT_TRUE(seen.insert(word).second) << word;
  }
}

TEST(Words, KindsOfASubjectStandInTheOrderOfTheAlphabet) {
  EXPECT_EQ(subjects().size(), 8u);
  for (const Subject& subject : subjects()) {
    std::vector<std::string_view> names;
    for (const Kind* kind : subject.kinds) names.push_back(kind->name);
    EXPECT_TRUE(std::ranges::is_sorted(names)) << subject.name;
    EXPECT_EQ(std::set<std::string_view>(names.begin(), names.end()).size(), kChoices) << subject.name;
  }
}

TEST(Words, GrammarOfArticlesCountsAndCapitals) {
  EXPECT_EQ(with_article("owl"), "an owl");
  EXPECT_EQ(with_article("hen"), "a hen");
  EXPECT_EQ(with_article("unit"), "a unit");
  EXPECT_EQ(counted(1, {"kite", "kites"}), "1 kite");
  EXPECT_EQ(counted(3, {"kite", "kites"}), "3 kites");
  EXPECT_EQ(sentence("the word"), "The word");
}

}  // namespace
}  // namespace crope::world
