#include <gtest/gtest.h>

#include "crope/base/json.h"
#include "tests/run_program.h"

namespace crope {
namespace {

TEST(InfoCommand, DescribesAModel) {
  const std::string dir = std::string(CROPE_SOURCE_DIR) + "/tests/data/goldens/crope_all";
  const auto result = test::run_program("info --json " + dir);
  ASSERT_EQ(result.status, 0) << result.err;
  const Json info = parse_json(result.out, "info");
  EXPECT_EQ(info["config"]["variant"], "crope_all");
  EXPECT_EQ(info["parameters"]["attention"], 2 * 4 * 2 * 16 * 16);
  EXPECT_EQ(info["parameters"]["attention_saving"], 0.5);
  EXPECT_EQ(info["type"], "F32");
  EXPECT_EQ(info["tokenizer"], false);
  EXPECT_NE(test::run_program("info " + dir).out.find("crope_all"), std::string::npos);
  EXPECT_EQ(test::run_program("info " + dir + "/absent").status, 1);
}

}  // namespace
}  // namespace crope
