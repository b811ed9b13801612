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

TEST(MetricsLog, CountsTheStepsThatHaveNoLine) {
  const test::TemporaryFolder folder;
  const auto missing = [&](const std::string& text, std::int64_t last_step) {
    write_file(folder / "m", text);
    return MetricsLog(folder / "m", last_step).missing_steps();
  };
  const std::string one = "{\"step\":1,\"loss\":2.5}\n", three = "{\"step\":3,\"loss\":2.5}\n";
  EXPECT_EQ(missing(one + "{\"step\":1,\"val_loss\":2.0}\n", 1), 0);
  EXPECT_EQ(missing(one + three, 3), 1);
  EXPECT_EQ(missing(one + "rubbish\n" + three, 3), 2) << "what follows damage is dropped";
  EXPECT_EQ(missing("", 3), 3);
  EXPECT_EQ(MetricsLog(folder / "absent", 3).missing_steps(), 3);
  EXPECT_EQ(MetricsLog(folder / "new", 0).missing_steps(), 0);
}

}  // namespace
}  // namespace crope::run
