#include <gtest/gtest.h>

#include <filesystem>

#include "crope/base/json.h"
#include "tests/run_program.h"

namespace crope {
namespace {

TEST(ExportCommand, WritesWhatImportReadsBack) {
  const test::TemporaryFolder folder;
  const std::string hf = (folder / "hf").string(), back = (folder / "back").string();
  const std::string model = std::string(CROPE_SOURCE_DIR) + "/tests/data/goldens/crope_all";
  const auto exported = test::run_program("export " + model + " " + hf + " --format hf --json");
  ASSERT_EQ(exported.status, 0) << exported.err;
  const Json report = parse_json(exported.out, "export");
  EXPECT_EQ(report["dtype"], "f32");
  EXPECT_LE(report["largest_difference"].get<double>(), 1e-4 * report["largest_logit"].get<double>());
  EXPECT_TRUE(std::filesystem::exists(folder / "hf/config.json"));

  ASSERT_EQ(test::run_program("import " + hf + " " + back).status, 0);
  const auto score = [](const std::string& dir) {
    const auto result = test::run_program("score " + dir + " --json --ids 1,2,3,4,5,6");
    return parse_json(result.out, "score")["nll"].get<double>();
  };
  EXPECT_NEAR(score(back), score(model), 1e-5 * score(model));
}

TEST(ExportCommand, WritesANativeFolderThatIsAModelDirectory) {
  const test::TemporaryFolder folder;
  const std::string model = std::string(CROPE_SOURCE_DIR) + "/tests/data/goldens/crope_all";
  const std::string out = (folder / "native").string();
  const auto exported = test::run_program("export " + model + " " + out + " --format hf-native --json");
  ASSERT_EQ(exported.status, 0) << exported.err;
  EXPECT_EQ(parse_json(exported.out, "export")["directory"], out);
  EXPECT_TRUE(std::filesystem::exists(folder / "native/modeling_crope.py"));
  const std::string ids = " --json --ids 1,2,3,4,5,6";
  EXPECT_EQ(test::run_program("score " + out + ids).out, test::run_program("score " + model + ids).out);
}

TEST(ExportCommand, WritesGguf) {
  const test::TemporaryFolder folder;
  const std::string model = std::string(CROPE_SOURCE_DIR) + "/tests/data/goldens/crope_qkv";
  for (const char* type : {"f32", "f16", "bf16", "q8_0"}) {
    const std::string out = (folder / (std::string(type) + ".gguf")).string();
    const auto exported = test::run_program("export " + model + " " + out + " --format gguf --json --type " + type);
    ASSERT_EQ(exported.status, 0) << exported.err;
    EXPECT_EQ(parse_json(exported.out, "export")["file"], out);
    EXPECT_NE(exported.err.find("tokenizer.json does not exist"), std::string::npos) << exported.err;
    EXPECT_TRUE(std::filesystem::is_regular_file(out));
  }
  const std::string out = (folder / "f32.gguf").string();
  const auto again = test::run_program("export " + model + " " + out + " --format gguf");
  EXPECT_EQ(again.status, 1);
  EXPECT_NE(again.err.find("exists already"), std::string::npos) << again.err;
  EXPECT_EQ(test::run_program("export " + model + " " + folder.path().string() + " --format gguf").status, 1);
}

TEST(ExportCommand, TakesTheFormatFromTheName) {
  const test::TemporaryFolder folder;
  const std::string model = std::string(CROPE_SOURCE_DIR) + "/tests/data/goldens/crope_all";
  const std::string out = (folder / "model.gguf").string();
  const auto exported = test::run_program("export " + model + " " + out);
  ASSERT_EQ(exported.status, 0) << exported.err;
  EXPECT_TRUE(std::filesystem::is_regular_file(out));
  EXPECT_TRUE(exported.out.starts_with("tied pairs are written as dense matrices: ")) << exported.out;
  const auto refused = test::run_program("export " + model + " " + (folder / "a.gguf").string() + " --format hf");
  EXPECT_EQ(refused.status, 2);
  EXPECT_NE(refused.err.find("--format gguf"), std::string::npos);
}

TEST(ExportCommand, RefusesWhatItCannotWrite) {
  const test::TemporaryFolder folder;
  const std::string out = (folder / "hf").string();
  const std::string model = std::string(CROPE_SOURCE_DIR) + "/tests/data/goldens/rope";
  EXPECT_EQ(test::run_program("export " + model + " " + out + " --format onnx").status, 2);
  EXPECT_EQ(test::run_program("export " + model + " " + out + " --type q8_0").status, 2) << "only gguf has it";
  const auto dtype = test::run_program("export " + model + " " + out + " --dtype bf61");
  EXPECT_EQ(dtype.status, 2);
  EXPECT_NE(dtype.err.find("bf16"), std::string::npos) << dtype.err;
  EXPECT_EQ(test::run_program("export " + model + "/absent " + out).status, 1);
  EXPECT_FALSE(std::filesystem::exists(folder / "hf"));
}

}  // namespace
}  // namespace crope
