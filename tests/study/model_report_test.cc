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
    double effective_sum = 0;
    for (const Json& energy : each["effective"]["sigma"]) effective_sum += energy.get<double>();
    EXPECT_NEAR(effective_sum, each["effective"]["squared_norm"].get<double>(), 1e-9 * effective_sum);
    const std::string name = each["projection"];
    EXPECT_EQ(each["tied"].get<bool>(), name == "q" || name == "k");
  }
  EXPECT_EQ(json["models"][0]["summary"].size(), 4u);
}

// The matrices of a tied model have no conjugate-linear part; with free gains folded in they have a small one.
TEST(ModelReport, EffectiveSharesAreBesideTheRawOnes) {
  Log silent(nullptr);
  const auto rows_of = [&](const char* name) -> Json {
    return analysis_to_json(analysis::analyze_model(golden(name), silent))["models"][0];
  };
  for (const char* list : {"summary", "projections"}) {
    for (const Json& row : rows_of("crope_all")[list]) {
      EXPECT_LT(row["conjugate_linear_share"].get<double>(), 1e-14);
      const double effective = row["effective"]["conjugate_linear_share"];
      if (row["projection"] == "o") {
        EXPECT_LT(effective, 1e-14);
      } else {
        EXPECT_GT(effective, 1e-3) << list << row["projection"];
      }
    }
    for (const Json& row : rows_of("more/crope_all_qk_gain_pair")[list]) {
      EXPECT_LE(row["effective"]["conjugate_linear_share"].get<double>(), 1e-12) << list << row["projection"];
    }
  }
}

TEST(ModelReport, TheConclusionTellsTiedFromDense) {
  Log silent(nullptr);
  const auto conclusion_of = [&](const char* name) {
    return conclusion(analysis::analyze_model(golden(name), silent).last());
  };
  EXPECT_EQ(conclusion_of("crope_all").find("Tied (q, k, v, o): complex-linear"), 0u) << conclusion_of("crope_all");
  const std::string mixed = conclusion_of("crope_qk");
  EXPECT_NE(mixed.find("Tied (q, k)"), std::string::npos) << mixed;
  EXPECT_NE(mixed.find("Dense (v, o)"), std::string::npos) << mixed;
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
  const std::string page = read_file(folder / "out/index.html");
  EXPECT_NE(page.find("id=\"function-space\""), std::string::npos);
  EXPECT_NE(page.find("with gains</th>"), std::string::npos);
  EXPECT_EQ(read_json(folder / "out/analysis.json")["models"].size(), 2u);
}

}  // namespace
}  // namespace crope::study
