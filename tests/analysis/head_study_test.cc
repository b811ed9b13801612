#include "crope/analysis/head_study.h"

#include <gtest/gtest.h>

#include <cmath>

namespace crope::analysis {
namespace {

HeadStudy small_study() {
  Log silent(nullptr);
  return study_heads({.head = {.D = 256, .T = 32},
                      .widths = {16, 64},
                      .lengths = {8, 48},
                      .first_positions = {0, 512},
                      .picture_length = 10},
                     silent);
}

TEST(HeadStudy, HasEveryKindTaskAndSize) {
  const HeadStudy study = small_study();
  EXPECT_EQ(study.samples.size(), 4u * 4 * 2);
  EXPECT_EQ(study.by_width.size(), 4u * 4 * 2);
  EXPECT_EQ(study.by_length.size(), 4u * 4 * 2);
  ASSERT_EQ(study.pictures.size(), 16u);
  for (const HeadPicture& picture : study.pictures) {
    ASSERT_EQ(picture.weights.size(), 10u);
    for (const auto& row : picture.weights) {
      double sum = 0;
      for (const double weight : row) sum += weight;
      EXPECT_NEAR(sum, 1, 1e-5);
    }
  }
  for (const HeadSample& sample : study.samples) {
    const HeadMeasures& m = sample.measures;
    EXPECT_GT(m.rows, 0);
    EXPECT_LE(m.rows_right, m.rows);
    EXPECT_LE(m.target_weight + m.largest_elsewhere, 1 + 1e-5);
  }
}

TEST(HeadStudy, OnlyAbsolutePositionsKeepTokenAndDistanceApart) {
  const HeadStudy study = small_study();
  ASSERT_EQ(study.interaction.size(), 4u);
  EXPECT_LT(study.interaction[0], 1e-6);
  for (std::size_t kind = 1; kind < 4; ++kind) EXPECT_GT(study.interaction[kind], 0.02);
}

TEST(HeadStudy, AbsoluteTriesFailInTheirOwnWays) {
  const HeadOptions options{.D = 1024, .T = 64};
  const auto share = [&](AbsoluteTry attempt, std::int64_t first) {
    const HeadMeasures m = measure_head(make_absolute_try(attempt, options, first), options.mask);
    return double(m.rows_right) / double(m.rows);
  };
  EXPECT_LT(share(AbsoluteTry::own_position, 0), 0.5);
  // Deaf to the token: right exactly where it says "next".
  const IllustrativeHead deaf = make_absolute_try(AbsoluteTry::always_next, options);
  std::int64_t next = 0, rows = 0;
  for (std::size_t m = 0; m < deaf.targets.size(); ++m) {
    rows += !deaf.targets[m].empty();
    next += !deaf.targets[m].empty() && deaf.token_ids[m] == 0;
  }
  EXPECT_NEAR(share(AbsoluteTry::always_next, 0), double(next) / double(rows), 1e-12);
  // The slope does the task over the window that it was made for, and not at other positions.
  EXPECT_GT(share(AbsoluteTry::tilt, 0), 0.9);
  EXPECT_LT(share(AbsoluteTry::tilt, 512), 0.2);
}

TEST(HeadStudy, TheAppendixQueryIsComplexLinearAndLooksBackAsPrinted) {
  const HeadStudy study = small_study();
  EXPECT_LT(study.query_conjugate_share, 1e-12);
  EXPECT_EQ(study.as_printed.rows_right, 0);
  EXPECT_GE(study.as_printed_mirrored, 30);
}

}  // namespace
}  // namespace crope::analysis
