#include "crope/data/inspect.h"

#include "crope/base/error.h"
#include "crope/data/shard_set.h"
#include "tests/data/scratch_folder.h"

namespace crope::data {
namespace {

class InspectTest : public ScratchFolder {
 protected:
  void SetUp() override {
    ScratchFolder::SetUp();
    ShardSetWriter writer(folder_, "train", formats::TokenWidth::u16, 4);
    writer.append(std::vector<std::int32_t>{0, 5, 6, 0, 7, 8, 9});
    writer.finish();
  }
  Log log_{nullptr};
};

TEST_F(InspectTest, CountsDocumentsTokensAndBytes) {
  const DataDir dir = open_data_dir(folder_);
  const DirReport report =
      inspect(dir, {.end_of_text = 0, .vocab_size = 10, .token_lengths = {0, 1, 1, 1, 1, 2, 2, 2, 2, 3}}, log_);
  EXPECT_EQ(report.train.tokens(), 7u);
  EXPECT_EQ(report.train.documents(), 2u);
  EXPECT_EQ(report.train.bytes(), 11u);
  EXPECT_EQ(report.train.shards.size(), 2u);
  EXPECT_EQ(report.train.shards[1].highest_id, 9);
  EXPECT_EQ(report.val.tokens(), 0u);
}

TEST_F(InspectTest, AnIdOutsideTheVocabularyIsAnError) {
  EXPECT_THROW(inspect(open_data_dir(folder_), {.end_of_text = 0, .vocab_size = 9}, log_), Error);
}

TEST_F(InspectTest, SamplesAreBeginningsOfDocuments) {
  // A hundred documents of nine tokens: 1 to 9 after the end-of-text token.
  std::filesystem::remove_all(folder_);
  std::filesystem::create_directory(folder_);
  ShardSetWriter writer(folder_, "train", formats::TokenWidth::u16, 300);
  for (int document = 0; document < 100; ++document) {
    writer.append(std::vector<std::int32_t>{0, 1, 2, 3, 4, 5, 6, 7, 8, 9});
  }
  writer.finish();
  const auto samples = sample_documents(open_data_dir(folder_).train, 0, 5, 3);
  ASSERT_EQ(samples.size(), 5u);
  for (const auto& sample : samples) EXPECT_EQ(sample, (std::vector<std::int32_t>{1, 2, 3}));
}

}  // namespace
}  // namespace crope::data
