#include "crope/formats/arrow_status.h"

#include <gtest/gtest.h>

namespace crope::formats {
namespace {

TEST(ArrowStatus, GoodResultsPass) {
  EXPECT_NO_THROW(check_arrow("a.parquet", arrow::Status::OK()));
  EXPECT_EQ(take_arrow("a.parquet", arrow::Result<int>(7)), 7);
}

TEST(ArrowStatus, AFailureNamesTheFileAndHasOneLine) {
  const arrow::Status bad = arrow::Status::IOError("the page ends early\nfile.cc:12 read(page)");
  try {
    take_arrow("a.parquet", arrow::Result<int>(bad));
    FAIL() << "passed";
  } catch (const Error& error) {
    EXPECT_STREQ(error.what(), "a.parquet: the page ends early");
    EXPECT_FALSE(error.hint().empty());
  }
  EXPECT_THROW(check_arrow("a.parquet", bad), Error);
}

}  // namespace
}  // namespace crope::formats
