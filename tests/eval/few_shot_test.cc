#include "crope/eval/few_shot.h"

#include <gtest/gtest.h>

#include "crope/base/error.h"

namespace crope::eval {
namespace {

std::vector<Example> numbered(int count) {
  std::vector<Example> pool;
  for (int i = 0; i < count; ++i) pool.push_back({{{"n", i}}, "q" + std::to_string(i), "a" + std::to_string(i)});
  return pool;
}

TEST(FewShot, FirstExamplesForEveryQuestion) {
  FewShot shots(numbered(5), 2, ExampleDraw::first, "dev.jsonl");
  EXPECT_EQ(shots.next({}), "q0 a0\n\nq1 a1\n\n");
  EXPECT_EQ(shots.next({}), "q0 a0\n\nq1 a1\n\n");
}

// random.Random(1234).sample(range(7473), 5), drawn anew for the second question.
TEST(FewShot, DrawsAsLmEvalDoes) {
  FewShot shots(numbered(7473), 5, ExampleDraw::random, "train.jsonl");
  EXPECT_EQ(shots.next({}), "q6374 a6374\n\nq3610 a3610\n\nq957 a957\n\nq61 a61\n\nq742 a742\n\n");
  EXPECT_EQ(shots.next({}), "q7462 a7462\n\nq6610 a6610\n\nq4769 a4769\n\nq286 a286\n\nq5501 a5501\n\n");
}

TEST(FewShot, TheQuestionItselfIsNoExample) {
  FewShot with_self(numbered(7473), 4, ExampleDraw::random_but_self, "train.jsonl");
  EXPECT_EQ(with_self.next({{"n", 957}}), "q6374 a6374\n\nq3610 a3610\n\nq61 a61\n\nq742 a742\n\n");
  // A pool that holds it more than once is drawn from again, without it.
  std::vector<Example> doubled = numbered(2);
  doubled.push_back(doubled[0]);
  FewShot again(doubled, 1, ExampleDraw::random_but_self, "train.jsonl");
  for (int i = 0; i < 20; ++i) EXPECT_EQ(again.next({{"n", 0}}), "q1 a1\n\n");
}

TEST(FewShot, NoneAskedForAndTooFew) {
  EXPECT_EQ(FewShot({}, 0, ExampleDraw::random, "").next({}), "");
  EXPECT_THROW(FewShot(numbered(4), 5, ExampleDraw::first, "dev.jsonl"), Error);
  EXPECT_THROW(FewShot(numbered(5), 5, ExampleDraw::random_but_self, "train.jsonl"), Error);
}

}  // namespace
}  // namespace crope::eval
