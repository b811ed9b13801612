#include <gtest/gtest.h>

#include <filesystem>

#include "crope/base/json.h"
#include "tests/cli/trained_model.h"
#include "tests/run_program.h"

namespace crope {
namespace {

const std::string kGoldens = std::string(CROPE_SOURCE_DIR) + "/tests/data/goldens/";

TEST(UpcycleCommand, MakesAModelThatScoresAndTrains) {
  const test::TemporaryFolder folder;
  const std::string out = (folder / "tied").string();
  const auto made = test::run_program("upcycle " + kGoldens + "rope " + out + " --variant crope_all --json");
  ASSERT_EQ(made.status, 0) << made.err;
  const Json report = parse_json(made.out, "upcycle");
  ASSERT_EQ(report["kept"].size(), 2u);
  for (const Json& layer : report["kept"]) {
    EXPECT_GT(layer["q"].get<double>(), 0.3);
    EXPECT_LT(layer["q"].get<double>(), 1.0);
    EXPECT_TRUE(layer["v"].is_null());
    EXPECT_GT(layer["vo"].get<double>(), 0.1);
  }
  const Json info = parse_json(test::run_program("info --json " + out).out, "info");
  EXPECT_EQ(info["config"]["variant"], "crope_all");
  EXPECT_EQ(info["parameters"]["total"], report["parameters"]);
  EXPECT_EQ(test::run_program("score " + out + " --ids 1,2,3,4").status, 0);
}

TEST(UpcycleCommand, PrintsATable) {
  const test::TemporaryFolder folder;
  const auto made = test::run_program("upcycle " + kGoldens + "rope " + (folder / "m").string() +
                                      " --variant crope_qkv --method plain");
  ASSERT_EQ(made.status, 0) << made.err;
  EXPECT_NE(made.out.find("energy kept"), std::string::npos);
  EXPECT_NE(made.out.find("1.0000"), std::string::npos) << "O is not tied in crope_qkv:\n" << made.out;
}

TEST(UpcycleCommand, AnnealedScoresAsBefore) {
  const test::TemporaryFolder folder;
  const std::string out = (folder / "annealed").string();
  const auto made = test::run_program("upcycle " + kGoldens + "rope " + out + " --variant crope_all --method annealed");
  ASSERT_EQ(made.status, 0) << made.err;
  EXPECT_NE(made.out.find("--conjugate-steps N"), std::string::npos) << made.out;
  const auto loss = [](const std::string& dir) {
    const auto score = test::run_program("score " + dir + " --ids 5,9,2,44,31,7,7,80 --json");
    EXPECT_EQ(score.status, 0) << score.err;
    return parse_json(score.out, "score")["nll"].get<double>();
  };
  EXPECT_NEAR(loss(out), loss(kGoldens + "rope"), 1e-5);
  EXPECT_EQ(test::run_program("analyze " + out).status, 0);
  EXPECT_EQ(test::run_program("generate " + out + " --prompt-ids 1,2 --max-tokens 3").status, 0);
  const Json info = parse_json(test::run_program("info --json " + out).out, "info");
  EXPECT_EQ(info["config"]["conjugate_scale"], 1);
  EXPECT_EQ(info["parameters"]["attention_saving"], 0);
}

// From a dense model to a tied one, with the dense one as teacher, as docs/training.md has it.
TEST(UpcycleCommand, AnAnnealedModelIsTrainedIntoATiedOne) {
  const test::TemporaryFolder folder;
  const std::string dense = test::train_tiny_run(folder.path()), at = folder.path().string();
  ASSERT_EQ(test::run_program("upcycle " + dense + " " + at + "/annealed --variant crope_all --method annealed").status,
            0);
  const auto trained =
      test::run_program("train --init-from " + at + "/annealed --teacher " + dense + " --data " + at + "/data --out " +
                        at + "/tied --conjugate-steps 3 --steps 5 --seq-len 32 --teacher-top-k 20" + test::kTinySteps);
  ASSERT_EQ(trained.status, 0) << trained.err;
  const Json info = parse_json(test::run_program("info --json " + at + "/tied").out, "info");
  EXPECT_FALSE(info["config"].contains("conjugate_scale"));
  EXPECT_EQ(info["parameters"]["attention_saving"], 0.5);
  const auto analysis = test::run_program("analyze " + at + "/tied --text " + at + "/text.txt --json");
  ASSERT_EQ(analysis.status, 0) << analysis.err;
  EXPECT_EQ(parse_json(analysis.out, "analyze")["layer_losses"]["losses"].size(), 2u);
  const auto context = test::run_program("analyze " + at + "/tied --context --text " + at + "/text.txt --json");
  ASSERT_EQ(context.status, 0) << context.err;
  const Json use = parse_json(context.out, "analyze");
  ASSERT_EQ(use["positions"].size(), 1u) << "the window has 64 tokens";
  EXPECT_EQ(use["positions"][0]["end"], 64);
  EXPECT_TRUE(use["recall"].empty());
  EXPECT_EQ(test::run_program("analyze " + at + "/tied --context").status, 2) << "no text";
  EXPECT_EQ(test::run_program("analyze " + at + "/tied --context --text " + at + "/text.txt --out " + at).status, 2);
  EXPECT_EQ(
      test::run_program("train --data " + at + "/data --out " + at + "/none --temperature 2" + test::kTinyShape).status,
      2);
}

TEST(UpcycleCommand, RefusesWithAReason) {
  const test::TemporaryFolder folder;
  const std::string out = " " + (folder / "m").string();
  const auto half = test::run_program("upcycle " + kGoldens + "rope" + out + " --variant half_rope_all");
  EXPECT_EQ(half.status, 2);
  EXPECT_NE(half.err.find("half as wide"), std::string::npos) << half.err;
  EXPECT_EQ(test::run_program("upcycle " + kGoldens + "rope" + out).status, 2);
  EXPECT_EQ(test::run_program("upcycle " + kGoldens + "rope" + out + " --variant crope_al").status, 2);
  EXPECT_EQ(test::run_program("upcycle " + kGoldens + "rope" + out + " --variant crope_all --method best").status, 2);
  EXPECT_EQ(test::run_program("upcycle " + kGoldens + "crope_qk" + out + " --variant crope_all").status, 2);
  EXPECT_EQ(test::run_program("upcycle " + kGoldens + "absent" + out + " --variant crope_all").status, 1);
  EXPECT_FALSE(std::filesystem::exists(folder / "m"));
}

}  // namespace
}  // namespace crope
