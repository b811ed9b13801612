#include "crope/base/progress.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstdio>
#include <string>
#include <utility>
#include <vector>

namespace crope {
namespace {

using std::chrono::steady_clock;

// Progress on a clock that the test moves.
class ProgressTest : public testing::Test {
 protected:
  ~ProgressTest() override { std::fclose(stream_); }

  std::string run(std::uint64_t total, const std::vector<std::pair<int, std::uint64_t>>& updates,
                  std::uint64_t first = 0) {
    Log log(stream_, /*is_terminal=*/false);
    steady_clock::time_point now{};
    Progress progress(log,
                      {.label = "work", .unit = "items", .total = total, .first = first, .now = [&] { return now; }});
    for (const auto& [seconds, done] : updates) {
      now = steady_clock::time_point{} + std::chrono::seconds(seconds);
      progress.update(done);
    }
    std::string text(static_cast<std::size_t>(std::ftell(stream_)), '\0');
    std::rewind(stream_);
    EXPECT_EQ(std::fread(text.data(), 1, text.size(), stream_), text.size());
    return text;
  }

  std::FILE* stream_ = std::tmpfile();
};

TEST_F(ProgressTest, QuietForTwoSecondsThenEveryFive) {
  const std::string text = run(1000, {{1, 10}, {2, 200}, {4, 400}, {7, 700}, {8, 800}});
  EXPECT_EQ(text,
            "work: 20.0% of 1.00k items, 100/s, 8 s left\n"
            "work: 70.0% of 1.00k items, 100/s, 3 s left\n");
}

TEST_F(ProgressTest, WithoutATotalThereIsNoTimeLeft) {
  EXPECT_EQ(run(0, {{4, 6000}}), "work: 6.00k items, 1.50k/s\n");
}

TEST_F(ProgressTest, WhatWasDoneBeforeIsNoPartOfTheRate) {
  EXPECT_EQ(run(1000, {{2, 700}}, 500), "work: 70.0% of 1.00k items, 100/s, 3 s left\n");
}

TEST(Format, Durations) {
  EXPECT_EQ(format_duration(0.2), "0 s");
  EXPECT_EQ(format_duration(59.6), "1 min 00 s");
  EXPECT_EQ(format_duration(3 * 3600 + 125), "3 h 02 min");
  EXPECT_EQ(format_duration(86400 * 4 + 3600 * 3), "4 d 3 h");
  EXPECT_EQ(format_duration(INFINITY), "unknown time");
}

TEST(Format, Counts) {
  EXPECT_EQ(format_grouped(0), "0");
  EXPECT_EQ(format_grouped(-999), "-999");
  EXPECT_EQ(format_grouped(-123456), "-123,456");
  EXPECT_EQ(format_grouped(168'989'696), "168,989,696");
  EXPECT_EQ(format_count(0), "0");
  EXPECT_EQ(format_count(2.5), "2.5");
  EXPECT_EQ(format_count(999), "999");
  EXPECT_EQ(format_count(12'345), "12.3k");
  EXPECT_EQ(format_count(168'989'696), "169M");
}

}  // namespace
}  // namespace crope
