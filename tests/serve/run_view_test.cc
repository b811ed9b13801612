#include "crope/serve/run_view.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <filesystem>
#include <fstream>
#include <string>
#include <thread>

#include "crope/base/error.h"
#include "crope/base/file.h"
#include "tests/temporary_folder.h"

namespace crope::serve {
namespace {

namespace fs = std::filesystem;

void append_text(const fs::path& path, const std::string& text) {
  std::ofstream(path, std::ios::app | std::ios::binary) << text;
}

std::string update_line(int step, double loss) {
  return Json{{"step", step}, {"tokens", 512 * step}, {"loss", loss}, {"lr", 0.01}}.dump() + "\n";
}

TEST(RunView, AModelDirectoryHasNothingToShow) {
  const test::TemporaryFolder folder;
  RunView view(folder.path());
  EXPECT_FALSE(view.is_run());
  EXPECT_EQ(view.after(0).dump(), R"({"run":false,"last_step":0,"steps":null,"train":[],"val":[],"latest":null})");
}

TEST(RunView, GivesWhatCameAfterAStep) {
  const test::TemporaryFolder folder;
  const fs::path metrics = folder / "metrics.jsonl";
  write_file(folder / "run.json", R"({"train": {"steps": 500}})");
  append_text(metrics,
              update_line(1, 5.5) + update_line(2, 5.25) + "{\"step\":2,\"val_loss\":5.0}\n" + update_line(3, 5.125));
  RunView view(folder.path());
  EXPECT_TRUE(view.is_run());
  const Json all = view.after(0);
  EXPECT_EQ(all["train"].dump(), "[[1,5.5],[2,5.25],[3,5.125]]");
  EXPECT_EQ(all["val"].dump(), "[[2,5.0]]");
  EXPECT_EQ(all["last_step"], 3);
  EXPECT_EQ(all["steps"], 500);
  EXPECT_EQ(all["latest"]["tokens"], 1536);

  append_text(metrics, update_line(4, 5.0));
  EXPECT_EQ(view.after(3)["train"].dump(), "[[4,5.0]]");
  EXPECT_EQ(view.after(3)["val"].dump(), "[]");
  EXPECT_EQ(view.after(4)["train"].dump(), "[]");
  EXPECT_EQ(view.after(0)["train"].size(), 4);
}

// A file cut at any byte gives the lines that are whole, and the rest when it comes.
TEST(RunView, WaitsForTheRestOfALine) {
  const std::string text = update_line(1, 4) + "{\"step\":1,\"val_loss\":3.5}\n" + update_line(2, 3);
  for (std::size_t cut = 0; cut <= text.size(); ++cut) {
    const test::TemporaryFolder folder;
    append_text(folder / "metrics.jsonl", text.substr(0, cut));
    RunView view(folder.path());
    const auto lines = std::count(text.begin(), text.begin() + static_cast<std::ptrdiff_t>(cut), '\n');
    const Json before = view.after(0);
    EXPECT_EQ(before["train"].size() + before["val"].size(), static_cast<std::size_t>(lines)) << cut;
    append_text(folder / "metrics.jsonl", text.substr(cut));
    EXPECT_EQ(view.after(0)["train"].dump(), "[[1,4.0],[2,3.0]]") << cut;
    EXPECT_EQ(view.after(0)["val"].dump(), "[[1,3.5]]") << cut;
  }
}

TEST(RunView, PassesOverDamagedLines) {
  const test::TemporaryFolder folder;
  const fs::path metrics = folder / "metrics.jsonl";
  append_text(metrics,
              update_line(1, 2) + "\n[]\n{\"step\":\"x\",\"loss\":1}\n{\"step\":2,\"loss\":null}\n{\"loss\":1}\n");
  append_text(metrics, std::string(100, '[') + "\n" + std::string("\0\xff\n", 3));
  append_text(metrics, std::string((std::size_t{1} << 21) + 7, 'x') + "\n" + update_line(3, 1));
  write_file(folder / "run.json", "not JSON");
  RunView view(folder.path());
  EXPECT_EQ(view.after(0)["train"].dump(), "[[1,2.0],[3,1.0]]");
  EXPECT_TRUE(view.after(0)["steps"].is_null());
}

TEST(RunView, BeginsAnewWithAFileThatWasReplaced) {
  const test::TemporaryFolder folder;
  const fs::path metrics = folder / "metrics.jsonl";
  append_text(metrics, update_line(1, 4) + update_line(2, 3) + update_line(3, 2));
  RunView view(folder.path());
  EXPECT_EQ(view.after(0)["last_step"], 3);
  write_file(metrics, update_line(1, 4));  // as a resumed run does
  EXPECT_EQ(view.after(3)["last_step"], 1);
  EXPECT_EQ(view.after(0)["train"].dump(), "[[1,4.0]]");
  append_text(metrics, update_line(2, 2.5));
  EXPECT_EQ(view.after(1)["train"].dump(), "[[2,2.5]]");
  fs::remove(metrics);
  EXPECT_EQ(view.after(0)["last_step"], 0);
}

TEST(RunView, AStepThatComesAgainReplacesWhatWasAfterIt) {
  const test::TemporaryFolder folder;
  append_text(folder / "metrics.jsonl", update_line(1, 4) + update_line(2, 3) + update_line(3, 2) + update_line(2, 1));
  RunView view(folder.path());
  EXPECT_EQ(view.after(0)["train"].dump(), "[[1,4.0],[2,1.0]]");
}

TEST(RunView, LongRunsAreThinnedToMeans) {
  const test::TemporaryFolder folder;
  std::string text;
  const int steps = 2 * static_cast<int>(RunView::kMaxPoints) + 1;  // three to a point, the last of two
  for (int step = 1; step <= steps; ++step) text += update_line(step, step);
  append_text(folder / "metrics.jsonl", text);
  RunView view(folder.path());
  const Json train = view.after(0)["train"];
  EXPECT_LE(train.size(), RunView::kMaxPoints);
  EXPECT_EQ(train[0].dump(), "[3,2.0]");
  EXPECT_EQ(train.back()[0], steps);
  EXPECT_EQ(view.after(steps - 5)["train"].size(), 5);
}

TEST(RunView, AFolderInPlaceOfTheFileIsAnError) {
  const test::TemporaryFolder folder;
  fs::create_directory(folder / "metrics.jsonl");
  RunView view(folder.path());
  EXPECT_THROW(view.after(0), Error);
}

TEST(RunView, SeveralThreadsMayAskWhileTheRunWrites) {
  const test::TemporaryFolder folder;
  RunView view(folder.path());
  std::atomic<bool> done = false;
  std::thread reader([&] {
    std::int64_t last = 0;
    while (!done) {
      const std::int64_t now = view.after(last)["last_step"].get<std::int64_t>();
      EXPECT_GE(now, last);
      last = now;
    }
  });
  for (int step = 1; step <= 200; ++step) {
    append_text(folder / "metrics.jsonl", update_line(step, 1.0 / step));
    EXPECT_EQ(view.after(0)["train"].size(), static_cast<std::size_t>(step));
  }
  done = true;
  reader.join();
}

}  // namespace
}  // namespace crope::serve
