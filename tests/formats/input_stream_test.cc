#include "crope/formats/input_stream.h"

#include <gtest/gtest.h>

#include <string>

#include "crope/base/error.h"
#include "crope/base/file.h"
#include "tests/temporary_folder.h"

namespace crope::formats {
namespace {

std::string read_all(InputStream& stream, std::size_t step) {
  std::string all, buffer(step, '\0');
  while (const std::size_t got = stream.read(buffer)) all.append(buffer, 0, got);
  return all;
}

TEST(InputStream, PlainBytesInAnySteps) {
  const test::TemporaryFolder folder;
  std::string bytes;
  for (int i = 0; i < 70'000; ++i) bytes += static_cast<char>(i * 7);
  write_file(folder / "x", bytes);
  for (const std::size_t step : {1ul, 100ul, 65'536ul, 1'000'000ul}) {
    InputStream stream = InputStream::open(folder / "x");
    EXPECT_EQ(read_all(stream, step), bytes);
    EXPECT_EQ(stream.consumed(), bytes.size());
  }
}

TEST(InputStream, DamagedAndMissingFilesAreErrors) {
  const test::TemporaryFolder folder;
  write_file(folder / "x.gz", "not gzip at all");
  write_file(folder / "x.zst", "not zstd at all");
  for (const char* name : {"x.gz", "x.zst"}) {
    EXPECT_THROW(
        {
          InputStream stream = InputStream::open(folder / name);
          read_all(stream, 100);
        },
        Error);
  }
  EXPECT_THROW(InputStream::open(folder / "absent"), Error);
  EXPECT_THROW(InputStream::open(folder.path()), Error);
}

}  // namespace
}  // namespace crope::formats
