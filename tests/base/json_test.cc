#include "crope/base/json.h"

#include <gtest/gtest.h>

#include "crope/base/error.h"
#include "tests/temporary_folder.h"

namespace crope {
namespace {

std::string message_of(std::string_view text) {
  try {
    parse_json(text, "here");
  } catch (const Error& e) {
    return e.what();
  }
  return "nothing was thrown";
}

TEST(Json, KeepsTheOrderOfKeys) {
  EXPECT_EQ(parse_json(R"({"b": 1, "a": [true, null]})", "here").dump(), R"({"b":1,"a":[true,null]})");
}

TEST(Json, RefusesWhatIsNotJson) {
  EXPECT_EQ(message_of(R"({"a": )"), "here: not valid JSON at byte 7");
  EXPECT_EQ(message_of(std::string_view("{}\0 more", 8)), "here: not valid JSON at byte 3");
  EXPECT_NE(message_of("").find("here: not valid JSON"), std::string::npos);
  EXPECT_NE(message_of("\"\xff\"").find("here: not valid JSON"), std::string::npos);
  EXPECT_NE(message_of("1e999").find("here: not valid JSON"), std::string::npos);
}

TEST(Json, RefusesAKeyThatStandsTwice) {
  EXPECT_EQ(message_of(R"({"a": {"x": 1}, "b": {"x": 2}, "a": 3})"), "here: the key 'a' appears twice in one object");
}

TEST(Json, RefusesDeepNesting) {
  EXPECT_EQ(message_of(std::string(100'000, '[')), "here: JSON nested deeper than 64 levels");
}

TEST(Json, WritesWhatItReads) {
  const test::TemporaryFolder folder;
  const Json json = {{"x", 1.5}, {"y", "z"}};
  write_json(folder / "a.json", json);
  EXPECT_EQ(read_json(folder / "a.json"), json);
}

std::string object_of(int keys, const std::string& value = "0") {
  std::string text = "{";
  for (int i = 0; i < keys; ++i) text += (i > 0 ? ",\"k" : "\"k") + std::to_string(i) + "\":" + value;
  return text + "}";
}

// An ordered object looks at all its keys for every new one: forty thousand took seconds, a million days.
TEST(Json, TakesManyKeysInLinearTimeAndRefusesMoreThanTheLimit) {
  EXPECT_EQ(message_of(object_of(40'000)), "here: JSON with an object of more than 4096 keys");
  EXPECT_EQ(parse_json(object_of(4096), "here").size(), 4096u);
  const std::string million = object_of(1'000'000);
  const Json json = parse_json(million, "here", {.keys = 1'000'000, .values = 1'000'001});
  EXPECT_EQ(json.begin().key(), "k0");
  EXPECT_EQ(std::prev(json.end()).key(), "k999999");
  EXPECT_EQ(parse_sorted_json(million, "here").size(), 1'000'000u);
}

TEST(Json, RefusesMoreValuesThanTheLimit) {
  const JsonLimits limits{.values = 4};
  EXPECT_NO_THROW(parse_json("[1, [], {}]", "here", limits));
  EXPECT_THROW(parse_json("[1, [], {}, 2]", "here", limits), Error);
  EXPECT_THROW(parse_json(R"({"a": {"b": [1]}, "c": null})", "here", limits), Error);
  std::string many = "[0";
  for (int i = 0; i < 1 << 20; ++i) many += ",0";
  EXPECT_EQ(message_of(many + "]"), "here: JSON with more than 1048576 values");
}

TEST(Json, NestedObjectsGrowWithoutBeingCopied) {
  std::string text = object_of(1000, "[1,2]");
  for (std::size_t depth = 1; depth < kDeepestJson - 1; ++depth) text = "{\"a\":" + text + ",\"b\":1,\"c\":2}";
  EXPECT_EQ(parse_json(text, "here").dump(), text);
  EXPECT_EQ(parse_sorted_json(text, "here")["c"], 2);
}

TEST(Json, EqualKeysAreFoundWhereverTheyStand) {
  std::string text = object_of(3000);
  text.back() = ',';
  EXPECT_EQ(message_of(text + R"("k17":1})"), "here: the key 'k17' appears twice in one object");
  EXPECT_THROW(parse_sorted_json(text + R"("k17":1})", "here"), Error);
}

TEST(Json, MembersOfOneObjectAreHandedOut) {
  std::vector<std::string> taken;
  const auto take = [&](std::string key, const Json& value) { taken.push_back(key + "=" + value.dump()); };
  const Json rest = parse_json_members(
      R"({"vocab": {"x": 1}, "model": {"a": 1, "vocab": {"p": 1, "q": "s"}, "z": {"vocab": {"y": 2}}}, "n": [{"vocab": {}}]})",
      "here", {"model", "vocab"}, take);
  EXPECT_EQ(taken, (std::vector<std::string>{"p=1", "q=\"s\""}));
  EXPECT_EQ(rest.dump(), R"({"vocab":{"x":1},"model":{"a":1,"vocab":{},"z":{"vocab":{"y":2}}},"n":[{"vocab":{}}]})");
  taken.clear();
  EXPECT_EQ(parse_json_members(object_of(40'000), "here", {}, take).dump(), "{}");
  EXPECT_EQ(taken.size(), 40'000u);
  EXPECT_THROW(parse_json_members(R"({"a": [1]})", "here", {}, take), Error);
  EXPECT_THROW(parse_json_members(R"({"a": {}})", "here", {}, take), Error);
}

}  // namespace
}  // namespace crope
