#include "crope/run/metrics_follower.h"

#include <gtest/gtest.h>

#include <fstream>

#include "crope/base/error.h"
#include "crope/base/file.h"
#include "tests/temporary_folder.h"

namespace crope::run {
namespace {

class Follower : public testing::Test {
 protected:
  void append(const std::string& text) { std::ofstream(path(), std::ios::app) << text; }

  std::vector<std::int64_t> new_steps() {
    std::vector<std::int64_t> steps;
    news_ = follower_.read();
    for (const MetricsLine& line : news_.lines) steps.push_back(line.step);
    return steps;
  }

  std::filesystem::path path() const { return folder_ / "metrics.jsonl"; }

  using Steps = std::vector<std::int64_t>;
  test::TemporaryFolder folder_;
  MetricsFollower follower_{folder_ / "metrics.jsonl"};
  MetricsFollower::News news_;
};

TEST_F(Follower, ReadsEachWholeLineOnce) {
  EXPECT_EQ(new_steps(), Steps{});
  append("{\"step\":1}\n{\"st");
  EXPECT_EQ(new_steps(), Steps{1});
  EXPECT_TRUE(news_.restarted);
  append("ep\":2}\n");
  EXPECT_EQ(new_steps(), Steps{2});
  EXPECT_FALSE(news_.restarted);
  EXPECT_EQ(new_steps(), Steps{});
  append("rubbish\n{\"step\":3}\n");
  EXPECT_EQ(new_steps(), Steps{3});
}

TEST_F(Follower, BeginsAgainWhenTheFileIsCutOrReplaced) {
  append("{\"step\":1}\n{\"step\":2}\n");
  EXPECT_EQ(new_steps(), (Steps{1, 2}));
  std::filesystem::resize_file(path(), 11);
  EXPECT_EQ(new_steps(), Steps{1});
  EXPECT_TRUE(news_.restarted);
  write_file(path(), "{\"step\":5}\n");
  EXPECT_EQ(new_steps(), Steps{5});
  EXPECT_TRUE(news_.restarted);
  std::filesystem::remove(path());
  EXPECT_EQ(new_steps(), Steps{});
  EXPECT_TRUE(news_.restarted);
}

TEST_F(Follower, PassesOverWhatIsTooLongToBeALine) {
  append(std::string(3 << 20, 'x') + "\n{\"step\":4}\n");
  EXPECT_EQ(new_steps(), Steps{4});
}

TEST_F(Follower, AFolderIsAnError) {
  std::filesystem::create_directories(path());
  EXPECT_THROW(follower_.read(), Error);
}

}  // namespace
}  // namespace crope::run
