#include "crope/study/model_report.h"

#include <gtest/gtest.h>

#include "crope/base/file.h"
#include "crope/model/init.h"
#include "crope/model/model_dir.h"
#include "tests/temporary_folder.h"

namespace crope::study {
namespace {

std::filesystem::path golden(const char* variant) {
  return std::filesystem::path(CROPE_SOURCE_DIR) / "tests/data/goldens" / variant;
}

TEST(ModelReport, JsonHoldsTheEnergies) {
  Log silent(nullptr);
  const Json json = analysis_to_json(analysis::analyze_model(golden("crope_qk"), silent));
  const Json& projections = json["models"][0]["projections"];
  ASSERT_FALSE(projections.empty());
  for (const Json& each : projections) {
    double sum = 0;
    for (const Json& energy : each["sigma"]) sum += energy.get<double>();
    EXPECT_NEAR(sum, each["squared_norm"].get<double>(), 1e-9 * sum);
    const std::string name = each["projection"];
    EXPECT_EQ(each["tied"].get<bool>(), name == "q" || name == "k");
  }
  EXPECT_EQ(json["models"][0]["summary"].size(), 4u);
  EXPECT_FALSE(json.contains("best_linear_share"));
}

TEST(ModelReport, RandomWeightsAreWithinTheirDeviation) {
  analysis::AnalyzedModel model;
  model.projections = analysis::projection_energies(
      model::make_random_transformer({.vocab_size = 8, .num_layers = 4, .num_heads = 2, .d_model = 32, .d_ff = 8}));
  for (const ProjectionSummary& row : summarize(model)) {
    EXPECT_EQ(row.matrices, 4);
    EXPECT_NEAR(row.energies.conjugate_linear_share(), row.random.mean, 5 * row.random.deviation);
    EXPECT_LT(row.random.deviation, analysis::random_share(32, 32).deviation);
  }
}

TEST(ModelReport, APageWithCurvesOverCheckpoints) {
  const test::TemporaryFolder folder;
  for (const char* step : {"00000010", "00000020"}) {
    model::save_model(
        model::make_random_transformer({.vocab_size = 8, .num_layers = 1, .num_heads = 2, .d_model = 16, .d_ff = 8}),
        folder / (std::string("run/checkpoints/step_") + step));
  }
  Log silent(nullptr);
  write_analysis(analysis::analyze_model(folder / "run", silent), folder / "out");
  for (const char* name : {"energies_q", "conjugate_share_by_step", "fspace_sigma1", "fspace_reflection"}) {
    EXPECT_TRUE(std::filesystem::exists(folder / (std::string("out/") + name + ".svg"))) << name;
  }
  EXPECT_NE(read_file(folder / "out/index.html").find("id=\"function-space\""), std::string::npos);
  EXPECT_EQ(read_json(folder / "out/analysis.json")["models"].size(), 2u);
}

}  // namespace
}  // namespace crope::study
