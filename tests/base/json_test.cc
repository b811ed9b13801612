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
  EXPECT_NE(message_of("").find("here: not valid JSON"), std::string::npos);
  EXPECT_NE(message_of("\"\xff\"").find("here: not valid JSON"), std::string::npos);
  EXPECT_NE(message_of("1e999").find("here: not valid JSON"), std::string::npos);
}

TEST(Json, RefusesAKeyThatStandsTwice) {
  EXPECT_EQ(message_of(R"({"a": {"x": 1}, "b": {"x": 2}, "a": 3})"), "here: the key 'a' stands twice in one object");
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

}  // namespace
}  // namespace crope
