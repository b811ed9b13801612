#include <gtest/gtest.h>

#include <filesystem>

#include "crope/base/file.h"
#include "crope/base/json.h"
#include "tests/run_program.h"

namespace crope {
namespace {

TEST(ImportCommand, DescribesTheModel) {
  const test::TemporaryFolder folder;
  const std::string hf = (folder / "hf").string();
  const std::string model = std::string(CROPE_SOURCE_DIR) + "/tests/data/goldens/rope";
  ASSERT_EQ(test::run_program("export " + model + " " + hf).status, 0);
  const auto imported = test::run_program("import " + hf + " " + (folder / "model").string() + " --json");
  ASSERT_EQ(imported.status, 0) << imported.err;
  const Json report = parse_json(imported.out, "import");
  const Json info = parse_json(test::run_program("info --json " + model).out, "info");
  EXPECT_EQ(report["config"]["variant"], "rope");
  EXPECT_EQ(report["config"]["d_model"], info["config"]["d_model"]);
  EXPECT_EQ(report["parameters"], info["parameters"]["total"]);
}

TEST(ImportCommand, RefusesOtherFamiliesAndDamage) {
  const test::TemporaryFolder folder;
  const std::string hf = (folder / "hf").string(), out = " " + (folder / "model").string();
  EXPECT_EQ(test::run_program("import " + hf + out).status, 1);
  std::filesystem::create_directory(folder / "hf");
  write_file(folder / "hf/config.json", "{\"architectures\": [\"BertModel\"], \"model_type\": \"bert\"}");
  const auto other = test::run_program("import " + hf + out);
  EXPECT_EQ(other.status, 1);
  EXPECT_NE(other.err.find("bert"), std::string::npos) << other.err;
  write_file(folder / "hf/config.json", "{\"architectures\": ");
  EXPECT_EQ(test::run_program("import " + hf + out).status, 1);
  EXPECT_FALSE(std::filesystem::exists(folder / "model"));
}

}  // namespace
}  // namespace crope
