#include "crope/run/metrics_log.h"

#include <gtest/gtest.h>

#include "crope/base/error.h"
#include "crope/base/file.h"
#include "tests/temporary_folder.h"

namespace crope::run {
namespace {

TEST(MetricsLog, EveryLineIsThereAtOnce) {
  const test::TemporaryFolder folder;
  MetricsLog log(folder / "m", 0);
  log.write({{"step", 1}, {"loss", 2.5}});
  EXPECT_EQ(read_file(folder / "m"), "{\"step\":1,\"loss\":2.5}\n");
}

TEST(MetricsLog, DropsWhatTheRunWillMakeAgain) {
  const test::TemporaryFolder folder;
  const std::string kept = "{\"step\":1}\n{\"step\":2}\n{\"step\":2,\"val_loss\":3.0}\n";
  for (const char* tail :
       {"", "{\"step\":3}\n", "{\"step\":3}\n{\"step\":4}\n", "{\"st", "{\"step\":", "\n", "rubbish\n"}) {
    write_file(folder / "m", kept + tail);
    MetricsLog log(folder / "m", 2);
    EXPECT_EQ(read_file(folder / "m"), kept) << tail;
    log.write({{"step", 3}});
    EXPECT_EQ(read_file(folder / "m"), kept + "{\"step\":3}\n") << tail;
  }
}

TEST(MetricsLog, SaysWhereItCannotWrite) {
  EXPECT_THROW(MetricsLog("/nowhere/m", 0), Error);
  const test::TemporaryFolder folder;
  std::filesystem::create_symlink("/dev/full", folder / "m");
  MetricsLog full(folder / "m", 0);
  EXPECT_THROW(full.write({{"step", 1}}), Error);
}

}  // namespace
}  // namespace crope::run
