#include "crope/study/structure_figures.h"

#include <gtest/gtest.h>

#include "crope/model/init.h"
#include "crope/model/model_dir.h"
#include "tests/temporary_folder.h"

namespace crope::study {
namespace {

TEST(StructureFigures, MapsNeedTwoLayersAndCurvesTwoCheckpoints) {
  for (const std::int64_t layers : {1, 2}) {
    const test::TemporaryFolder folder;
    model::save_model(
        model::make_random_transformer(
            {.vocab_size = 300, .num_layers = layers, .num_heads = 2, .d_model = 16, .d_ff = 8, .max_seq_len = 16}),
        folder / "model");
    Log silent(nullptr);
    const StructureReport report = study_structure({.dir = folder / "model", .structure = {.null_rounds = 2}}, silent);
    const auto maps = structure_maps(report.last(), folder.path());
    EXPECT_EQ(maps.size(), layers == 1 ? 0u : 3u);
    for (const report::DrawnFigure& map : maps) {
      EXPECT_NE(map.svg.find("<svg"), std::string::npos) << map.name;
      EXPECT_FALSE(map.alt.empty()) << map.name;
    }
    EXPECT_TRUE(structure_curves(report, folder.path()).empty());
  }
}

}  // namespace
}  // namespace crope::study
