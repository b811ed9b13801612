#include "crope/base/log.h"

#include <gtest/gtest.h>

#include <cstdio>
#include <string>
#include <thread>

namespace crope {
namespace {

// What a log wrote to its stream.
std::string written(std::FILE* stream) {
  std::string text(static_cast<std::size_t>(std::ftell(stream)), '\0');
  std::rewind(stream);
  EXPECT_EQ(std::fread(text.data(), 1, text.size(), stream), text.size());
  return text;
}

TEST(Log, PlainLinesAndNoLiveLineWithoutATerminal) {
  std::FILE* stream = std::tmpfile();
  Log log(stream, /*is_terminal=*/false);
  log.set_live_line("50%");
  log.info("one");
  log.warn("two");
  EXPECT_EQ(written(stream), "one\nwarning: two\n");
  std::fclose(stream);
}

TEST(Log, LinesPushTheLiveLineDown) {
  std::FILE* stream = std::tmpfile();
  Log log(stream, /*is_terminal=*/true);
  log.set_live_line("50%");
  log.info("one");
  EXPECT_EQ(written(stream), "\r\x1b[K50%\r\x1b[Kone\n50%");
  std::fclose(stream);
}

TEST(Log, ANullStreamSaysNothing) {
  Log log(nullptr);
  log.info("one");
  log.set_live_line("two");
}

TEST(Log, LinesOfThreadsDoNotMix) {
  std::FILE* stream = std::tmpfile();
  Log log(stream, /*is_terminal=*/false);
  std::thread other([&] {
    for (int i = 0; i < 200; ++i) log.info("aaaaaaaaaa");
  });
  for (int i = 0; i < 200; ++i) log.info("bbbbbbbbbb");
  other.join();
  const std::string text = written(stream);
  ASSERT_EQ(text.size(), 400u * 11);
  for (std::size_t line = 0; line < 400; ++line) {
    EXPECT_TRUE(text.compare(line * 11, 11, "aaaaaaaaaa\n") == 0 || text.compare(line * 11, 11, "bbbbbbbbbb\n") == 0);
  }
  std::fclose(stream);
}

}  // namespace
}  // namespace crope
