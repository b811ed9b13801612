#include "crope/dist/process_group.h"

#include <gtest/gtest.h>

#include "crope/base/error.h"
#include "tests/dist/rank_threads.h"

namespace crope::dist {
namespace {

using torch::Tensor;

class ProcessGroups : public testing::TestWithParam<int> {
 protected:
  // Runs on every rank and expects that none throws.
  void run(const test::RankWork& work) {
    for (const std::string& message : test::run_ranks(GetParam(), work)) EXPECT_EQ(message, "");
  }
};

TEST_P(ProcessGroups, SumsInPlace) {
  const int n = GetParam();
  run([n](const auto& group) {
    const Tensor values = at::arange(1000, torch::kFloat32) + group->rank();
    group->all_reduce(values).wait();
    EXPECT_TRUE(at::equal(values, at::arange(1000, torch::kFloat32) * n + n * (n - 1) / 2));
    EXPECT_EQ(group->sum(group->rank() + 0.5), n * (n - 1) / 2 + 0.5 * n);
  });
}

TEST_P(ProcessGroups, BroadcastsFromAnyRank) {
  const int n = GetParam();
  run([n](const auto& group) {
    for (int root = 0; root < n; ++root) {
      const Tensor values = at::full({7}, static_cast<float>(group->rank()));
      group->broadcast(values, root).wait();
      EXPECT_TRUE(at::equal(values, at::full({7}, static_cast<float>(root))));
    }
  });
}

TEST_P(ProcessGroups, GathersTextsByRank) {
  const int n = GetParam();
  run([n](const auto& group) {
    const auto text = [](int rank) { return std::string(static_cast<std::size_t>(rank * 3), 'a' + rank) + '\0'; };
    const std::vector<std::string> texts = group->gather(text(group->rank()));
    ASSERT_EQ(texts.size(), static_cast<std::size_t>(n));
    for (int rank = 0; rank < n; ++rank) EXPECT_EQ(texts[static_cast<std::size_t>(rank)], text(rank));
    EXPECT_EQ(group->gather(""), std::vector<std::string>(static_cast<std::size_t>(n)));
  });
}

INSTANTIATE_TEST_SUITE_P(Sizes, ProcessGroups, testing::Values(1, 2, 3, 5),
                         [](const auto& info) { return std::to_string(info.param) + "Ranks"; });

TEST(ProcessGroup, ARankThatIsGoneIsAnErrorForTheOthers) {
  const auto messages = test::run_ranks(2, [](const auto& group) {
    if (group->rank() == 1) return;
    const Tensor values = at::zeros({1000});
    for (int i = 0; i < 100; ++i) group->all_reduce(values).wait();
  });
  EXPECT_NE(messages[0].find("rank 0 of 2: the sum over ranks failed"), std::string::npos) << messages[0];
  EXPECT_EQ(messages[1], "");
}

TEST(ProcessGroup, ARankThatNeverComesIsAnErrorWithinTheTimeout) {
  const Launch alone{
      .rank = 0, .size = 2, .local_rank = 0, .local_size = 2, .address = "127.0.0.1", .port = test::free_port()};
  try {
    ProcessGroup(alone, {.timeout = std::chrono::seconds(2)});
    FAIL();
  } catch (const Error& e) {
    EXPECT_NE(std::string(e.what()).find("rank 0 of 2 could not meet the others"), std::string::npos) << e.what();
    EXPECT_NE(e.hint().find("GLOO_SOCKET_IFNAME"), std::string::npos);
  }
}

}  // namespace
}  // namespace crope::dist
