#include "crope/study/structure_report.h"

#include <gtest/gtest.h>

#include "crope/base/error.h"
#include "crope/base/file.h"
#include "crope/model/init.h"
#include "crope/model/model_dir.h"
#include "crope/study/structure_figures.h"
#include "tests/temporary_folder.h"

namespace crope::study {
namespace {

model::Transformer small_model(std::int64_t layers) {
  return model::make_random_transformer(
      {.vocab_size = 300, .num_layers = layers, .num_heads = 2, .d_model = 16, .d_ff = 8, .max_seq_len = 16});
}

StructureReport report_of(const std::filesystem::path& dir) {
  Log silent(nullptr);
  return study_structure({.dir = dir, .structure = {.null_rounds = 2}}, silent);
}

TEST(StructureReport, JsonHoldsTheShares) {
  const test::TemporaryFolder folder;
  model::save_model(small_model(3), folder / "model");
  const StructureReport report = report_of(folder / "model");
  const Json json = structure_to_json(report);
  ASSERT_EQ(json["models"].size(), 1u);
  EXPECT_FALSE(json["models"][0].contains("step"));
  EXPECT_FALSE(json.contains("text"));
  const Json& structures = json["models"][0]["structures"];
  ASSERT_EQ(structures.size(), 4u);
  for (std::size_t i = 0; i < 4; ++i) {
    const analysis::StructureOfProjections& of = report.last().structures[i];
    EXPECT_EQ(structures[i]["projections"], of.projections);
    EXPECT_EQ(structures[i]["best_share"], of.best_share);
    EXPECT_EQ(structures[i]["null"]["mean"], of.null_mean);
    EXPECT_EQ(structures[i]["held_out"]["share"], of.held_out->share);
    EXPECT_EQ(structures[i]["held_out"]["by_quarter"].size(), 4u);
    EXPECT_EQ(structures[i]["layers"].size(), 3u);
    EXPECT_EQ(structures[i]["layers"][1]["by_frequency"].size(), 4u);
  }
}

TEST(StructureReport, ACheckpointedRunIsACurve) {
  const test::TemporaryFolder folder;
  for (const char* step : {"00000010", "00000020"}) {
    model::save_model(small_model(2), folder / (std::string("run/checkpoints/step_") + step));
  }
  const StructureReport report = report_of(folder / "run");
  EXPECT_EQ(structure_to_json(report)["models"][1]["step"], 20);
  write_structure(report, folder / "out");
  for (const char* name : {"structure_q.svg", "structure_k.svg", "structure_v.png", "structure_by_step.svg"}) {
    EXPECT_TRUE(std::filesystem::exists(folder / "out" / name)) << name;
  }
  const std::string page = read_file(folder / "out/index.html");
  EXPECT_NE(page.find("coin flips"), std::string::npos);
  EXPECT_EQ(read_json(folder / "out/structure.json")["models"].size(), 2u);
}

TEST(StructureReport, OneLayerHasNoMapsButAPage) {
  const test::TemporaryFolder folder;
  model::save_model(small_model(1), folder / "model");
  const StructureReport report = report_of(folder / "model");
  EXPECT_TRUE(structure_maps(report.last(), folder.path()).empty());
  EXPECT_EQ(share_table(report.last().structures).rows[0][4], "-");
  write_structure(report, folder / "out");
  EXPECT_TRUE(std::filesystem::exists(folder / "out/index.html"));
}

TEST(StructureReport, ATextWithoutATokenizerIsRefused) {
  const test::TemporaryFolder folder;
  model::save_model(small_model(2), folder / "model");
  write_file(folder / "text.txt", "words");
  Log silent(nullptr);
  EXPECT_THROW(
      study_structure({.dir = folder / "model", .text = folder / "text.txt", .structure = {.null_rounds = 0}}, silent),
      UsageError);
}

}  // namespace
}  // namespace crope::study
