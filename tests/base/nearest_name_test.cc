#include "crope/base/nearest_name.h"

#include <gtest/gtest.h>

#include <vector>

namespace crope {
namespace {

const std::vector<std::string> kNames = {"rope", "crope_qk", "crope_all", "half_rope_qk"};

TEST(NearestName, FindsSlips) {
  EXPECT_EQ(nearest_name("crope_al", kNames), "crope_all");
  EXPECT_EQ(nearest_name("crope-qk", kNames), "crope_qk");
  EXPECT_EQ(nearest_name("orpe", kNames), "rope");
  EXPECT_EQ(nearest_name("half_rope", kNames), "half_rope_qk");
}

TEST(NearestName, FindsTheOnlyNameThatHasTheWordInIt) {
  EXPECT_EQ(nearest_name("enc", std::vector<std::string>{"train", "encode", "decode"}), "encode");
  EXPECT_EQ(nearest_name("--layers", std::vector<std::string>{"--num-layers", "--num-heads"}), "--num-layers");
  EXPECT_EQ(nearest_name("--num", std::vector<std::string>{"--num-layers", "--num-heads"}), "");
  EXPECT_EQ(nearest_name("--n", std::vector<std::string>{"--num-layers"}), "");
}

TEST(NearestName, FindsShorterNamesAndAbbreviations) {
  EXPECT_EQ(nearest_name("evaluate", std::vector<std::string>{"eval", "train", "report"}), "eval");
  EXPECT_EQ(nearest_name("--learning-rate", std::vector<std::string>{"--min-lr", "--lr", "--decay"}), "--lr");
  EXPECT_EQ(nearest_name("--learning", std::vector<std::string>{"--l"}), "");
}

TEST(NearestName, IsEmptyWhenNothingIsNear) {
  EXPECT_EQ(nearest_name("banana", kNames), "");
  EXPECT_EQ(nearest_name("", kNames), "");
  EXPECT_EQ(nearest_name(std::string(1'000'000, 'x'), kNames), "");
  EXPECT_EQ(nearest_name("rope", {}), "");
}

TEST(NearestName, SuggestsOrLists) {
  EXPECT_EQ(suggest("ropes", kNames), "did you mean 'rope'?");
  EXPECT_EQ(suggest("crope", kNames), "did you mean one of crope_qk, crope_all?");
  EXPECT_EQ(suggest("banana", kNames), "there is rope, crope_qk, crope_all, half_rope_qk");
}

}  // namespace
}  // namespace crope
