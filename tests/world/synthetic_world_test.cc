#include "crope/world/synthetic_world.h"

#include <gtest/gtest.h>

#include <map>
#include <string>

#include "crope/base/error.h"
#include "crope/base/file.h"

namespace crope::world {
namespace {

namespace fs = std::filesystem;

class SyntheticWorld : public testing::Test {
 protected:
  SyntheticWorld()
      : folder_(fs::path(testing::TempDir()) / testing::UnitTest::GetInstance()->current_test_info()->name()) {
    fs::remove_all(folder_);
    fs::create_directories(folder_);
  }
  ~SyntheticWorld() override { fs::remove_all(folder_); }

  // All files of a world, by name.
  std::map<std::string, std::string> write(const std::string& name, std::uint64_t seed, std::int64_t documents = 50) {
    Log quiet(nullptr, /*is_terminal=*/false);
    write_synthetic_world({.documents = documents,
                           .seed = seed,
                           .benchmarks = {.hellaswag_items = 40, .mmlu_items = 40, .gsm8k_items = 20}},
                          folder_ / name, quiet);
    std::map<std::string, std::string> files;
    for (const auto& entry : fs::recursive_directory_iterator(folder_ / name)) {
      if (entry.is_regular_file()) files[fs::relative(entry.path(), folder_ / name).string()] = read_file(entry.path());
    }
    return files;
  }

  fs::path folder_;
};

TEST_F(SyntheticWorld, WritesTheFilesThatOthersLookFor) {
  const auto files = write("world", 1);
  for (const char* name :
       {"train.jsonl", "world.json", "eval/hellaswag/hellaswag_val.jsonl", "eval/mmlu/mmlu_dev.jsonl",
        "eval/mmlu/mmlu_test.jsonl", "eval/gsm8k/train.jsonl", "eval/gsm8k/test.jsonl"}) {
    EXPECT_TRUE(files.contains(name)) << name;
  }
  EXPECT_EQ(files.size(), 7u);
  std::size_t lines = 0;
  std::uint64_t bytes = 0;
  const std::string& train = files.at("train.jsonl");
  for (std::size_t begin = 0; begin < train.size(); ++lines) {
    const std::size_t end = train.find('\n', begin);
    const Json line = parse_json(train.substr(begin, end - begin), "train.jsonl");
    bytes += line.at("text").get<std::string>().size();
    begin = end + 1;
  }
  const Json summary = parse_json(files.at("world.json"), "world.json");
  EXPECT_EQ(summary["version"], kWorldVersion);
  EXPECT_EQ(summary["seed"], 1);
  EXPECT_EQ(summary["documents"], lines);
  EXPECT_EQ(summary["bytes"], bytes);
  EXPECT_EQ(summary["mmlu_test_items"], 40);
}

TEST_F(SyntheticWorld, TheSameSeedGivesTheSameBytes) {
  const auto one = write("one", 1), again = write("again", 1), other = write("other", 2);
  EXPECT_EQ(one, again);
  for (const auto& [name, contents] : one) EXPECT_NE(contents, other.at(name)) << name;
}

TEST_F(SyntheticWorld, ALongerSetBeginsWithTheShorter) {
  EXPECT_TRUE(write("long", 1, 60).at("train.jsonl").starts_with(write("short", 1, 50).at("train.jsonl")));
}

TEST_F(SyntheticWorld, RefusesWhatItCannotDo) {
  write("world", 1);
  EXPECT_THROW(write("world", 1), Error);
  EXPECT_THROW(write("negative", 1, -1), UsageError);
  EXPECT_FALSE(fs::exists(folder_ / "negative"));
}

}  // namespace
}  // namespace crope::world
