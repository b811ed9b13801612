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

// The id that ends a text comes along, so generation stops there: here at the first token it chooses.
TEST(ImportCommand, GenerationEndsWhereTheModelSays) {
  const test::TemporaryFolder folder;
  const std::string hf = (folder / "hf").string(), model = (folder / "model").string();
  ASSERT_EQ(test::run_program("export " + std::string(CROPE_SOURCE_DIR) + "/tests/data/goldens/rope " + hf).status, 0);
  Json config = read_json(folder / "hf/config.json");
  config.erase("crope");
  const auto generate = [&](const std::string& out) {
    write_json(folder / "hf/config.json", config);
    EXPECT_EQ(test::run_program("import " + hf + " " + out).status, 0);
    const auto result =
        test::run_program("generate " + out + " --prompt-ids 1,2,3 --max-tokens 5 --temperature 0 --json");
    EXPECT_EQ(result.status, 0) << result.err;
    return parse_json(result.out, "generate")["choices"][0];
  };
  const Json open_ended = generate(model);
  EXPECT_EQ(open_ended["finish_reason"], "length");
  const std::int32_t first = open_ended["ids"][0];
  int number = 2;
  for (const Json& ends : {Json(first), Json({first == 4 ? 5 : 4, first}), Json({-1, 1 << 30, first})}) {
    config["eos_token_id"] = ends;
    const Json ended = generate(model + std::to_string(number++));
    EXPECT_EQ(ended["finish_reason"], "end_token") << ends;
    EXPECT_EQ(ended["ids"].size(), 1u) << ends;
  }
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
