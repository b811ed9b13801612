#include <gtest/gtest.h>

#include <filesystem>

#include "crope/base/json.h"
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
