#include "crope/data/shard_set.h"

#include "tests/data/scratch_folder.h"

namespace crope::data {
namespace {

using ShardSetTest = ScratchFolder;

TEST_F(ShardSetTest, CutsAStreamIntoEqualShards) {
  ShardSetWriter writer(folder_, "train", formats::TokenWidth::u16, 4);
  for (std::int32_t i = 0; i < 10; ++i) writer.append(std::vector<std::int32_t>{i});
  writer.finish();
  EXPECT_EQ(writer.tokens(), 10u);
  EXPECT_EQ(writer.shards(), 3u);
  EXPECT_EQ(std::filesystem::file_size(folder_ / "train_000000.bin"), 1024u + 2 * 4);
  EXPECT_EQ(std::filesystem::file_size(folder_ / "train_000002.bin"), 1024u + 2 * 2);
  EXPECT_FALSE(std::filesystem::exists(folder_ / "train_000003.bin"));
}

TEST_F(ShardSetTest, WithoutTokensThereIsNoShard) {
  ShardSetWriter writer(folder_, "val", formats::TokenWidth::u32, 4);
  writer.finish();
  EXPECT_EQ(writer.shards(), 0u);
  EXPECT_TRUE(std::filesystem::is_empty(folder_));
}

}  // namespace
}  // namespace crope::data
