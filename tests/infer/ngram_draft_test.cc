#include "crope/infer/ngram_draft.h"

#include <gtest/gtest.h>

namespace crope::infer {
namespace {

using Ids = std::vector<std::int32_t>;

TEST(NgramDraft, WhatFollowedTheSameTokensBefore) {
  NgramDraft draft(4);
  EXPECT_EQ(draft.guess(Ids{1, 2, 3, 4, 5, 6, 7, 8, 1, 2, 3}, 10), (Ids{4, 5, 6, 7}));
  EXPECT_EQ(draft.guess(Ids{1, 2, 3, 4, 5, 6, 7, 8, 1, 2, 3}, 2), (Ids{4, 5})) << "no more than there is room for";
  EXPECT_EQ(draft.guess(Ids{1, 2, 3, 4, 1, 2, 3}, 10), (Ids{4, 1, 2, 3}))
      << "what repeats may be what was just written";
  EXPECT_EQ(draft.guess(Ids{5, 5, 5, 5}, 10), (Ids{5})) << "no further than the text goes";
}

TEST(NgramDraft, TheLongestContextThenTheLatest) {
  NgramDraft draft(1);
  EXPECT_EQ(draft.guess(Ids{9, 1, 2, 3, 40, 8, 1, 2, 3, 50, 9, 1, 2, 3}, 1), Ids{40}) << "four tokens agree";
  EXPECT_EQ(draft.guess(Ids{8, 1, 2, 3, 40, 8, 1, 2, 3, 50, 7, 1, 2, 3}, 1), Ids{50}) << "three agree in both";
}

TEST(NgramDraft, NothingWithoutAnEarlierPlace) {
  NgramDraft draft(4);
  EXPECT_TRUE(draft.guess(Ids{1, 2, 3, 4, 5}, 10).empty());
  EXPECT_TRUE(draft.guess(Ids{7, 2, 3, 4, 1, 2, 3}, 10).empty()) << "two tokens are too few";
  EXPECT_TRUE(draft.guess(Ids{}, 10).empty());
  EXPECT_TRUE(draft.guess(Ids{1}, 10).empty());
  EXPECT_TRUE(draft.guess(Ids{1, 2, 3, 4, 1, 2, 3}, 0).empty());
  NgramDraft off(0);
  EXPECT_TRUE(off.guess(Ids{1, 2, 3, 4, 1, 2, 3}, 10).empty());
}

TEST(NgramDraft, FailuresMakeGuessesShorterAndRarer) {
  const Ids ids = {1, 2, 3, 4, 5, 6, 7, 8, 9, 1, 2, 3};
  NgramDraft draft(6);
  int previous = 0;
  for (int failures = 0; failures < 3; ++failures) {
    int calls = 0;
    while (draft.guess(ids, 10).empty()) ASSERT_LT(++calls, 1000);
    EXPECT_TRUE(failures == 0 ? calls == 0 : calls > previous) << failures;
    previous = calls;
    draft.report(6 >> failures, 0);
  }
  int calls = 0;
  while (draft.guess(ids, 10).empty()) ASSERT_LT(++calls, 1000);
  EXPECT_EQ(draft.guess(ids, 10).size(), 1u);
  draft.report(1, 1);
  EXPECT_EQ(draft.guess(ids, 10).size(), 2u) << "what is right makes them longer again";
  draft.report(2, 2);
  draft.report(4, 4);
  EXPECT_EQ(draft.guess(ids, 10).size(), 6u);
  draft.report(6, 2);
  EXPECT_EQ(draft.guess(ids, 10).size(), 3u);
}

}  // namespace
}  // namespace crope::infer
