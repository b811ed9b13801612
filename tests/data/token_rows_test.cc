#include "crope/data/token_rows.h"

#include "crope/base/error.h"
#include "crope/data/data_dir.h"
#include "crope/data/shard_set.h"
#include "tests/data/scratch_folder.h"

namespace crope::data {
namespace {

class TokenRowsTest : public ScratchFolder {
 protected:
  // Tokens 0 to count - 1 in shards of seven.
  std::vector<std::filesystem::path> shards(std::int32_t count) {
    ShardSetWriter writer(folder_, "train", formats::TokenWidth::u16, 7);
    for (std::int32_t i = 0; i < count; ++i) writer.append(std::vector<std::int32_t>{i});
    writer.finish();
    return open_data_dir(folder_).train;
  }
};

TEST_F(TokenRowsTest, RowsShareTheirEndsAndCrossShards) {
  const TokenRows rows(shards(24), 5, 100);
  ASSERT_EQ(rows.size(), 4u);
  for (std::uint64_t row = 0; row < rows.size(); ++row) {
    std::vector<std::int64_t> tokens(6);
    rows.read(row, tokens);
    for (std::int64_t t = 0; t < 6; ++t) EXPECT_EQ(tokens[t], static_cast<std::int64_t>(row) * 5 + t);
  }
  const std::vector<std::int64_t> two = rows.read_range(1, 2);
  EXPECT_EQ(two.size(), 12u);
  EXPECT_EQ(two[6], 10);
}

TEST_F(TokenRowsTest, RefusesTooFewTokensAndIdsOutsideTheVocabulary) {
  const auto paths = shards(6);
  EXPECT_NO_THROW(TokenRows(paths, 5, 100));
  EXPECT_THROW(TokenRows(paths, 6, 100), Error);
  const TokenRows rows(paths, 5, 3);
  std::vector<std::int64_t> tokens(6);
  EXPECT_THROW(rows.read(0, tokens), Error);
}

}  // namespace
}  // namespace crope::data
