#include "crope/serve/worker_pool.h"

#include <gtest/gtest.h>

#include <atomic>
#include <latch>
#include <thread>

namespace crope::serve {
namespace {

TEST(WorkerPool, HasAThreadForEachPieceOfWorkUpToTheLimit) {
  std::atomic<int> done = 0;
  {
    WorkerPool pool(3);
    std::latch all_there(3), go_on(1);
    for (int i = 0; i < 10; ++i) {
      pool.run([&, i] {
        if (i < 3) all_there.count_down();
        go_on.wait();
        ++done;
      });
    }
    all_there.wait();  // would never end with fewer threads
    EXPECT_EQ(pool.threads(), 3u);
    EXPECT_EQ(done, 0);
    go_on.count_down();
  }
  EXPECT_EQ(done, 10) << "the pool waits for its work";
}

TEST(WorkerPool, FewThreadsStayWithoutWork) {
  WorkerPool pool(100);
  std::latch all_there(50), go_on(1);
  for (int i = 0; i < 50; ++i) {
    pool.run([&] {
      all_there.count_down();
      go_on.wait();
    });
  }
  all_there.wait();
  EXPECT_EQ(pool.threads(), 50u);
  go_on.count_down();
  while (pool.threads() > 8) std::this_thread::yield();  // would never end if they stayed
  std::atomic<bool> done = false;
  pool.run([&] { done = true; });
  while (!done) std::this_thread::yield();
}

TEST(WorkerPool, ThreadsAreUsedAgain) {
  WorkerPool pool(100);
  for (int i = 0; i < 50; ++i) {
    std::latch done(1);
    pool.run([&] { done.count_down(); });
    done.wait();
  }
  EXPECT_LT(pool.threads(), 50u);
}

}  // namespace
}  // namespace crope::serve
