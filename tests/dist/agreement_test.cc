#include "crope/dist/agreement.h"

#include <gtest/gtest.h>

#include <atomic>

#include "crope/base/error.h"
#include "crope/base/interrupt.h"
#include "tests/dist/rank_threads.h"

namespace crope::dist {
namespace {

TEST(Together, AFailureOfOneIsAFailureOfAll) {
  const auto messages = test::run_ranks(3, [](const auto& group) {
    run_on_all_ranks(*group, [] {});
    run_on_all_ranks(*group, [&] {
      if (group->rank() == 1) throw Error("the disk is full", "make room");
    });
    ADD_FAILURE() << "rank " << group->rank() << " went on";
  });
  EXPECT_EQ(messages[0], "rank 1: the disk is full");
  EXPECT_EQ(messages[1], "the disk is full");
  EXPECT_EQ(messages[2], "rank 1: the disk is full");
}

TEST(Together, OneRankKeepsItsKindOfError) {
  ProcessGroup alone;
  EXPECT_THROW(run_on_all_ranks(alone, [] { throw UsageError("no"); }), UsageError);
}

TEST(AllSucceed, SaysAlikeOnEveryRank) {
  const auto messages = test::run_ranks(3, [](const auto& group) {
    std::string message;
    EXPECT_TRUE(all_succeed(
        *group, [] {}, message));
    EXPECT_FALSE(all_succeed(
        *group,
        [&] {
          if (group->rank() == 2) throw Error("damaged");
        },
        message));
    EXPECT_EQ(message, "damaged");
  });
  for (const std::string& message : messages) EXPECT_EQ(message, "");
}

TEST(AllSucceed, ASignalToOneRankIsNoFailureOfItsWork) {
  const auto messages = test::run_ranks(3, [](const auto& group) {
    const auto work = [&] {
      if (group->rank() == 1) throw Interrupted("interrupted");
    };
    std::string message;
    EXPECT_THROW(all_succeed(*group, work, message), Interrupted);
    EXPECT_THROW(run_on_all_ranks(*group, work), Interrupted);
  });
  for (const std::string& message : messages) EXPECT_EQ(message, "");
  ProcessGroup alone;
  std::string message;
  EXPECT_THROW(all_succeed(
                   alone, [] { throw Interrupted("interrupted"); }, message),
               Interrupted);
}

TEST(CheckSame, NamesTheRankThatDiffers) {
  const auto messages = test::run_ranks(3, [](const auto& group) {
    std::vector<torch::Tensor> tensors = {at::ones({3, 4}), at::arange(5, torch::kFloat32)};
    check_same(*group, tensors, "first");
    if (group->rank() == 2) tensors[1][4] += 1e-6;
    check_same(*group, tensors, "the parameters at step 7");
  });
  for (const std::string& message : messages) {
    EXPECT_EQ(message, "the parameters at step 7: rank 2 has other numbers than rank 0");
  }
}

TEST(Vote, IsAnsweredAlikeOnEveryRank) {
  std::array<std::atomic<int>, 3> asked{};
  const auto messages = test::run_ranks(3, [&](const auto& group) {
    Vote vote(*group);
    auto& count = asked[static_cast<std::size_t>(group->rank())];
    while (!vote.ask(group->rank() == 1 && count >= 4)) ++count;
  });
  for (const std::string& message : messages) EXPECT_EQ(message, "");
  EXPECT_EQ(asked[0], asked[1]);
  EXPECT_EQ(asked[0], asked[2]);
  EXPECT_EQ(asked[0], 5);
}

TEST(Vote, OfOneIsItsOwnWord) {
  ProcessGroup alone;
  Vote vote(alone);
  EXPECT_FALSE(vote.ask(false));
  EXPECT_TRUE(vote.ask(true));
  EXPECT_FALSE(vote.ask(false));
}

}  // namespace
}  // namespace crope::dist
