#include "crope/analysis/model_places.h"

#include <gtest/gtest.h>

#include "crope/base/error.h"
#include "crope/model/init.h"
#include "crope/model/model_dir.h"
#include "tests/temporary_folder.h"

namespace crope::analysis {
namespace {

TEST(ModelPlaces, CheckpointsOfARunInOrder) {
  const test::TemporaryFolder folder;
  const auto model =
      model::make_random_transformer({.vocab_size = 8, .num_layers = 1, .num_heads = 2, .d_model = 8, .d_ff = 8});
  for (const int step : {10, 5, 100}) {
    model::save_model(model, folder / ("checkpoints/step_" + std::to_string(step)));
  }
  std::filesystem::create_directories(folder / "checkpoints/step_00000200");  // not complete
  std::filesystem::create_directories(folder / "checkpoints/.step_300.tmp");
  std::filesystem::create_directory_symlink("checkpoints/step_100", folder / "latest");
  const auto places = model_places(folder.path());
  ASSERT_EQ(places.size(), 3u);
  EXPECT_EQ(places[0].step, 5);
  EXPECT_EQ(places[1].step, 10);
  EXPECT_EQ(places[2].step, 100);
}

TEST(ModelPlaces, AModelIsOnePlaceWithoutAStep) {
  const auto places = model_places(std::filesystem::path(CROPE_SOURCE_DIR) / "tests/data/goldens/rope");
  ASSERT_EQ(places.size(), 1u);
  EXPECT_FALSE(places.front().step.has_value());
}

TEST(ModelPlaces, OtherFoldersAreRefused) {
  const test::TemporaryFolder folder;
  EXPECT_THROW(model_places(folder.path()), Error);
  EXPECT_THROW(model_places(folder / "absent"), Error);
}

}  // namespace
}  // namespace crope::analysis
