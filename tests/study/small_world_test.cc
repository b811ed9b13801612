#include "crope/study/small_world.h"

#include <gtest/gtest.h>

#include "crope/base/error.h"
#include "crope/base/file.h"
#include "tests/temporary_folder.h"

namespace crope::study {
namespace {

namespace fs = std::filesystem;

const SmallWorldOptions kTiny{
    .documents = 60, .vocab_size = 300, .benchmarks = {.hellaswag_items = 4, .mmlu_items = 8, .gsm8k_items = 2}};

TEST(SmallWorld, IsMadeOnceAndLeftAlone) {
  const test::TemporaryFolder folder;
  Log log(nullptr);
  const SmallWorld made = make_small_world(folder.path(), kTiny, log);
  for (const fs::path& path : {made.world / "train.jsonl", made.benchmarks / "hellaswag/hellaswag_val.jsonl",
                               made.tokenizer / "tokenizer.json", made.data / "dataset.json"}) {
    EXPECT_TRUE(fs::exists(path)) << path;
  }
  const auto time = fs::last_write_time(made.data / "dataset.json");
  make_small_world(folder.path(), kTiny, log);
  EXPECT_EQ(fs::last_write_time(made.data / "dataset.json"), time);
}

TEST(SmallWorld, AnotherWorldInTheFolderIsRefused) {
  const test::TemporaryFolder folder;
  Log log(nullptr);
  make_small_world(folder.path(), kTiny, log);
  SmallWorldOptions other = kTiny;
  other.documents = 61;
  EXPECT_THROW(make_small_world(folder.path(), other, log), Error);
}

}  // namespace
}  // namespace crope::study
