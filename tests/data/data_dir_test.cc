#include "crope/data/data_dir.h"

#include "crope/base/error.h"
#include "crope/data/shard_set.h"
#include "tests/data/scratch_folder.h"

namespace crope::data {
namespace {

using DataDirTest = ScratchFolder;

void write_shard(const std::filesystem::path& folder, const std::string& split) {
  ShardSetWriter writer(folder, split, formats::TokenWidth::u16, 100);
  writer.append(std::vector<std::int32_t>{1, 2, 3});
  writer.finish();
}

TEST_F(DataDirTest, InfoRoundTrip) {
  DatasetInfo info;
  info.tokenizer_fingerprint = "abc";
  info.vocab_size = 70'000;
  info.end_of_text = 5;
  info.width = formats::TokenWidth::u32;
  info.train = {.documents = 3, .tokens = 30, .bytes = 99, .shards = 1};
  info.preparation = {{"x", 1}};
  const DatasetInfo back = dataset_info_from_json(parse_json(to_json(info).dump(), "test"), "test");
  EXPECT_EQ(to_json(back), to_json(info));
  Json broken = to_json(info);
  broken["vocab_size"] = "x";
  EXPECT_THROW(dataset_info_from_json(broken, "test"), Error);
  broken["vocab_size"] = 0;
  EXPECT_THROW(dataset_info_from_json(broken, "test"), Error);
  broken = to_json(info);
  broken["end_of_text"] = info.vocab_size;
  EXPECT_THROW(dataset_info_from_json(broken, "test"), Error);
}

TEST_F(DataDirTest, ShardsOfOthersNeedNoDatasetFile) {
  write_shard(folder_, "train");
  write_shard(folder_, "val");
  std::filesystem::rename(folder_ / "train_000000.bin", folder_ / "edu_fineweb_train_000001.bin");
  const DataDir dir = open_data_dir(folder_);
  EXPECT_EQ(dir.train.size(), 1u);
  EXPECT_EQ(dir.val.size(), 1u);
  EXPECT_FALSE(dir.info.has_value());
}

TEST_F(DataDirTest, RefusesWhatIsMissingEmptyOrMiscounted) {
  EXPECT_THROW(open_data_dir(folder_ / "absent"), Error);
  EXPECT_THROW(open_data_dir(folder_), Error);
  put("book.txt", "text");
  try {
    open_data_dir(folder_ / "book.txt");
    FAIL() << "a text file was taken for a data directory";
  } catch (const Error& e) {
    EXPECT_NE(std::string(e.what()).find("expected a data directory, found a file"), std::string::npos) << e.what();
    EXPECT_NE(e.hint().find("crope data prepare"), std::string::npos) << e.hint();
  }
  write_shard(folder_, "train");
  DatasetInfo info;
  info.vocab_size = 10;
  info.train.shards = 2;
  put("dataset.json", to_json(info).dump());
  EXPECT_THROW(open_data_dir(folder_), Error);
}

}  // namespace
}  // namespace crope::data
