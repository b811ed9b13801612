#include "crope/eval/perplexity.h"

#include <gtest/gtest.h>

#include "crope/base/error.h"
#include "crope/base/file.h"
#include "tests/eval/load_task.h"
#include "tests/temporary_folder.h"

namespace crope::eval {
namespace {

namespace fs = std::filesystem;

TEST(Perplexity, TextsAreFilesOrLines) {
  const test::TemporaryFolder folder;
  fs::create_directories(folder / "perplexity");
  write_file(folder / "perplexity/b.txt", "a text\nof two lines\n");
  write_file(folder / "perplexity/a.jsonl", "{\"text\": \"one\"}\n{\"text\": \"two\", \"id\": 4}\n");
  write_file(folder / "perplexity/ignored.md", "x");
  const Task task = load_task("perplexity", folder.path());
  ASSERT_EQ(task.items.size(), 3u);
  EXPECT_EQ(task.items[0].context, "one");
  EXPECT_EQ(task.items[1].context, "two");
  EXPECT_EQ(task.items[2].context, "a text\nof two lines\n");
  EXPECT_EQ(load_task("perplexity", folder.path(), {.limit = 2}).items.size(), 2u);
}

TEST(Perplexity, AFileMayBeTheData) {
  const test::TemporaryFolder folder;
  write_file(folder / "x", "text");
  EXPECT_EQ(find_texts(folder / "x", {}), std::vector<fs::path>{folder / "x"});
  const fs::path other = folder / "y";
  EXPECT_EQ(find_texts(folder / "x", std::span(&other, 1)), std::vector<fs::path>{other});
  EXPECT_THROW(find_texts(folder.path(), {}), Error);
}

TEST(Perplexity, BadTexts) {
  const test::TemporaryFolder folder;
  const fs::path file = folder / "x.txt";
  for (const char* text : {"", "ab\xff", "cut \xe2\x82"}) {
    write_file(file, text);
    EXPECT_THROW(load_task("perplexity", file), Error) << text;
  }
  const fs::path absent = folder / "absent.txt";
  EXPECT_THROW(load_task("perplexity", absent), Error);
}

}  // namespace
}  // namespace crope::eval
