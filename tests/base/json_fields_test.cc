#include "crope/base/json_fields.h"

#include <gtest/gtest.h>

#include <functional>

#include "crope/base/error.h"

namespace crope {
namespace {

std::string message_of(const std::function<void()>& work) {
  try {
    work();
  } catch (const Error& e) {
    return e.what();
  }
  return "no error";
}

TEST(JsonFieldsTest, ReadsValuesOfEveryType) {
  const Json json = {{"on", true}, {"few", -3}, {"many", 18446744073709551615u}, {"share", 0.5}, {"name", "rope"}};
  const JsonFields fields(json, "file");
  EXPECT_EQ(fields.get<bool>("on"), true);
  EXPECT_EQ(fields.get<std::int64_t>("few"), -3);
  EXPECT_EQ(fields.get<std::uint64_t>("many"), 18446744073709551615u);
  EXPECT_EQ(fields.get<double>("share"), 0.5);
  EXPECT_EQ(fields.get<double>("few"), -3.0);
  EXPECT_EQ(fields.get<std::string>("name"), "rope");
}

TEST(JsonFieldsTest, MessagesNameOriginFieldExpectedAndFound) {
  const Json json = {{"d_model", "wide"}, {"many", 18446744073709551615u}, {"few", -1}, {"share", 1.5}};
  const JsonFields fields(json, "config.json");
  EXPECT_EQ(message_of([&] { fields.get<std::int64_t>("d_model"); }),
            "config.json: d_model: expected a whole number, found \"wide\"");
  EXPECT_EQ(message_of([&] { fields.get<std::int64_t>("many"); }),
            "config.json: many: expected a whole number, found 18446744073709551615");
  EXPECT_EQ(message_of([&] { fields.get<std::uint64_t>("few"); }),
            "config.json: few: expected a whole number from 0, found -1");
  EXPECT_EQ(message_of([&] { fields.get<std::int64_t>("share"); }),
            "config.json: share: expected a whole number, found 1.5");
  EXPECT_EQ(message_of([&] { fields.get<bool>("absent"); }), "config.json: the field 'absent' is missing");
  EXPECT_EQ(message_of([&] { JsonFields(Json::array(), "config.json"); }),
            "config.json: expected a JSON object, found []");
}

TEST(JsonFieldsTest, NullCountsAsAbsentWhereAValueIsOptional) {
  const Json json = {{"best", nullptr}, {"seed", 7}};
  const JsonFields fields(json, "file");
  EXPECT_EQ(fields.find("best"), nullptr);
  EXPECT_EQ(fields.get_or<std::int64_t>("best", 5), 5);
  EXPECT_EQ(fields.get_or<std::int64_t>("seed", 5), 7);
  EXPECT_EQ(message_of([&] { fields.get<std::int64_t>("best"); }), "file: best: expected a whole number, found null");
}

TEST(JsonFieldsTest, ChecksRanges) {
  const Json json = {{"head", 4}};
  const JsonFields fields(json, "file");
  EXPECT_EQ(fields.integer("head", 0, 4), 4);
  EXPECT_EQ(message_of([&] { fields.integer("head", 0, 3); }), "file: head: expected a number from 0 to 3, found 4");
  EXPECT_EQ(message_of([&] { fields.integer("head", 5, 9); }), "file: head: expected a number from 5 to 9, found 4");
}

TEST(JsonFieldsTest, InnerObjectsAreNamedByTheirPath) {
  const Json json = {{"train", {{"tokens", "none"}}}, {"val", 3}};
  const JsonFields fields(json, "dataset.json");
  EXPECT_EQ(message_of([&] { fields.object("train").get<std::uint64_t>("tokens"); }),
            "dataset.json: train: tokens: expected a whole number from 0, found \"none\"");
  EXPECT_EQ(message_of([&] { fields.object("val"); }), "dataset.json: val: expected a JSON object, found 3");
}

TEST(JsonFieldsTest, LongValuesAreNamedByTheirType) {
  const Json long_text = std::string(100, 'x');
  EXPECT_EQ(expected_found("a number", &long_text), "expected a number, found a long string");
  EXPECT_EQ(expected_found("a number", nullptr), "expected a number, found nothing");
}

TEST(JsonFieldsTest, TheHintOfAMissingFieldIsTheOwners) {
  const Json json = Json::object();
  try {
    JsonFields(json, "file", "see docs/formats.md").at("d_model");
    FAIL();
  } catch (const Error& e) {
    EXPECT_EQ(e.hint(), "see docs/formats.md");
  }
}

}  // namespace
}  // namespace crope
