#include "crope/interop/hf_index.h"

#include <gtest/gtest.h>

#include "crope/base/error.h"

namespace crope::interop {
namespace {

TEST(HfIndex, NamesTheFileOfEachTensorHoweverManyThereAre) {
  std::string text = R"({"metadata": {"total_size": 12}, "weight_map": {"a": "one.safetensors")";
  for (int i = 0; i < 40'000; ++i) text += ",\"t" + std::to_string(i) + "\":\"two.safetensors\"";
  const auto files = parse_hf_index(text + "}}", "index");
  EXPECT_EQ(files.size(), 40'001u);
  EXPECT_EQ(files.at("a"), "one.safetensors");
  EXPECT_EQ(files.at("t39999"), "two.safetensors");
}

TEST(HfIndex, RefusesOtherTextsAndFilesElsewhere) {
  for (const char* text :
       {"", "[]", "{}", R"({"weight_map": []})", R"({"weight_map": {"a": 1}})", R"({"weight_map": {"a": ""}})",
        R"({"weight_map": {"a": "../b"}})", R"({"weight_map": {"a": "/b"}})", R"({"weight_map": {"a": ".."}})",
        R"({"weight_map": {"a": "."}})", R"({"weight_map": {"a": "b/"}})"}) {
    EXPECT_THROW(parse_hf_index(text, "index"), Error) << text;
  }
}

}  // namespace
}  // namespace crope::interop
