#include "crope/data/ordered_workers.h"

#include <gtest/gtest.h>

#include <chrono>
#include <stdexcept>

namespace crope::data {
namespace {

TEST(OrderedWorkers, WorkComesBackInItsOrder) {
  OrderedWorkers<int> workers(
      [](int& work) {
        // Early work takes longest.
        std::this_thread::sleep_for(std::chrono::microseconds(work % 4 == 0 ? 2000 : 10));
        work *= work;
      },
      4, 8);
  int given = 0, taken = 0;
  while (taken < 100) {
    while (given < 100 && !workers.full()) workers.push(given++);
    EXPECT_EQ(workers.pop(), taken * taken);
    ++taken;
  }
  EXPECT_TRUE(workers.empty());
}

TEST(OrderedWorkers, WhatAWorkerThrowsReachesTheCaller) {
  OrderedWorkers<int> workers(
      [](int& work) {
        if (work == 1) throw std::runtime_error("no");
      },
      2, 4);
  workers.push(0);
  workers.push(1);
  EXPECT_EQ(workers.pop(), 0);
  EXPECT_THROW(workers.pop(), std::runtime_error);
}

}  // namespace
}  // namespace crope::data
