#include <gtest/gtest.h>

#include <map>

#include "crope/base/json.h"
#include "tests/run_program.h"

namespace crope {
namespace {

using test::run_program;

TEST(ParamsCommand, JsonOfThePaper) {
  const auto result = run_program("params --recipe paper --vocab-size 50304 --json");
  ASSERT_EQ(result.status, 0) << result.err;
  const Json rows = parse_json(result.out, "params");
  ASSERT_EQ(rows.size(), 6u);
  EXPECT_EQ(rows[0], parse_json(R"({"variant":"rope","embedding":51511296,"attention":67108864,"feed_forward":50331648,
                                    "norm":37888,"total":168989696,"attention_saving":0.0})",
                                "expected"));
  const std::map<std::string, double> savings = {{"rope", 0},        {"crope_qk", 0.25},     {"crope_qkv", 0.375},
                                                 {"crope_all", 0.5}, {"half_rope_qk", 0.25}, {"half_rope_all", 0.5}};
  for (const Json& row : rows) EXPECT_EQ(row["attention_saving"], savings.at(row["variant"].get<std::string>()));
}

TEST(ParamsCommand, FlagsOverrideTheRecipe) {
  const auto result = run_program("params --num-layers 2 --d-model 64 --num-heads 4 --d-ff 32 --vocab-size 10 --json");
  ASSERT_EQ(result.status, 0) << result.err;
  const Json rope = parse_json(result.out, "params")[0];
  EXPECT_EQ(rope["attention"], 2 * 4 * 64 * 64);
  EXPECT_EQ(rope["feed_forward"], 2 * 3 * 64 * 32);
  EXPECT_EQ(rope["embedding"], 640);
}

TEST(ParamsCommand, ARecipeMayBeAFile) {
  const test::TemporaryFolder folder;
  write_json(folder / "mine.json", {{"num_layers", 1}, {"steps", 10}});
  const auto result = run_program("params --json --recipe " + (folder / "mine.json").string());
  ASSERT_EQ(result.status, 0) << result.err;
  EXPECT_EQ(parse_json(result.out, "params")[0]["attention"], 4 * 1024 * 1024);
  write_file(folder / "bad.json", "{\"num_layers\": \"x\"}");
  EXPECT_EQ(run_program("params --recipe " + (folder / "bad.json").string()).status, 1);
  write_file(folder / "bad.json", "{\"num_layers\": 2.9}");
  EXPECT_EQ(run_program("params --recipe " + (folder / "bad.json").string()).status, 1);
  EXPECT_EQ(run_program("params --recipe " + (folder / "absent.json").string()).status, 1);
}

TEST(ParamsCommand, ImpossibleShapesAreUsageErrors) {
  for (const char* flags : {"--num-heads 7", "--d-model 0", "--vocab-size -5", "--num-heads 1024",
                            "--d-model 9223372036854775807", "--norm-eps nan", "--num-layers 99999999999999999999"}) {
    const auto result = run_program(std::string("params ") + flags);
    EXPECT_EQ(result.status, 2) << flags << result.err;
    EXPECT_EQ(result.err.find("error: "), 0u) << flags;
  }
}

}  // namespace
}  // namespace crope
