#include "crope/eval/dealt_items.h"

#include <gtest/gtest.h>

#include <cmath>

#include "tests/dist/rank_threads.h"

namespace crope::eval {
namespace {

std::vector<Task> two_tasks() {
  std::vector<Task> tasks(2);
  for (int i = 0; i < 7; ++i) tasks[0].items.push_back({.context = "a" + std::to_string(i)});
  tasks[1].items.push_back({.context = "b0"});
  return tasks;
}

// What a model might say to an item: any bytes, and numbers that are not finite.
Response response_to(const Item& item) {
  return {.log_likelihoods = {-0.1 * item.context.back(), -INFINITY},
          .is_greedy = {true, false},
          .text = item.context + "\xff\n"};
}

class DealtItems : public testing::TestWithParam<int> {};

TEST_P(DealtItems, EveryItemIsAnsweredOnceAndInItsPlace) {
  const auto messages = test::run_ranks(GetParam(), [](const auto& group) {
    const std::vector<Task> tasks = two_tasks(), own = own_items(tasks, *group);
    std::vector<std::vector<Response>> responses(own.size());
    for (std::size_t t = 0; t < own.size(); ++t) {
      for (const Item& item : own[t].items) responses[t].push_back(response_to(item));
    }
    EXPECT_NEAR(static_cast<double>(own[0].items.size()), 7.0 / group->size(), 1.0);
    const auto all = gather_responses(tasks, responses, *group);
    ASSERT_EQ(all.size(), tasks.size());
    for (std::size_t t = 0; t < all.size(); ++t) {
      ASSERT_EQ(all[t].size(), tasks[t].items.size());
      for (std::size_t i = 0; i < all[t].size(); ++i) {
        const Response expected = response_to(tasks[t].items[i]);
        EXPECT_EQ(all[t][i].log_likelihoods, expected.log_likelihoods);
        EXPECT_EQ(all[t][i].is_greedy, expected.is_greedy);
        EXPECT_EQ(all[t][i].text, expected.text);
      }
    }
  });
  for (const std::string& message : messages) EXPECT_EQ(message, "");
}

INSTANTIATE_TEST_SUITE_P(Sizes, DealtItems, testing::Values(1, 2, 3, 9));

}  // namespace
}  // namespace crope::eval
