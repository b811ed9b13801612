#include "crope/model/weight_type.h"

#include <gtest/gtest.h>

#include "crope/base/error.h"
#include "crope/model/config.h"

namespace crope::model {
namespace {

TEST(WeightType, IsRecordedInTheConfiguration) {
  EXPECT_EQ(recorded_weight_type({{"d_model", 8}}, "config.json"), ops::WeightType::fp32);
  EXPECT_EQ(recorded_weight_type({{"weights", "int4"}}, "config.json"), ops::WeightType::int4);
  for (const Json& bad : {Json("int5"), Json(4), Json("int4_min")}) {
    try {
      recorded_weight_type({{"weights", bad}}, "config.json");
      FAIL() << bad;
    } catch (const UsageError&) {
      FAIL() << "a file is no usage";
    } catch (const Error& e) {
      EXPECT_TRUE(std::string(e.what()).starts_with("config.json: weights")) << e.what();
    }
  }
}

// It is a property of the file: whoever writes the configuration with other weights must not repeat it.
TEST(WeightType, IsNotPartOfTheShape) {
  Json json = config_to_json(ModelConfig{});
  json["weights"] = "int8";
  EXPECT_FALSE(config_to_json(config_from_json(json, "config.json")).contains("weights"));
  json["weights"] = "wide";
  EXPECT_THROW(config_from_json(json, "config.json"), Error);
}

}  // namespace
}  // namespace crope::model
