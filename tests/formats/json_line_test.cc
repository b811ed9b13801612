#include "crope/formats/json_line.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "crope/base/json.h"
#include "crope/base/random.h"

namespace crope::formats {
namespace {

JsonFieldKind kind_of(const std::string& line, std::string* text = nullptr) {
  std::string scratch;
  return find_json_string(line, "text", text != nullptr ? *text : scratch).kind;
}

// What nlohmann-json says about the same line: an independent reading of the same rules.
JsonFieldKind peer(const std::string& line, std::string* text) {
  const Json json = Json::parse(line, nullptr, /*allow_exceptions=*/false);
  if (json.is_discarded()) return JsonFieldKind::malformed;
  if (!json.is_object()) return JsonFieldKind::not_an_object;
  const auto found = json.find("text");
  if (found == json.end()) return JsonFieldKind::missing;
  if (found->is_null()) return JsonFieldKind::null;
  if (!found->is_string()) return JsonFieldKind::other;
  *text = found->get<std::string>();
  return JsonFieldKind::string;
}

const std::vector<std::string> kLines = {
    R"({"text": "plain"})",
    R"(  {"id":-12.5e+3,"list":[1,[],{},{"text":"inner"}],"text":"a\"b\\c\/d\b\f\n\r\t\u00e9\u4e2d\ud83d\ude00","z":true}  )",
    R"({"te\u0078t": "by an escaped name"})",
    R"({"text": null, "a": false})",
    R"({"text": {"text": "deeper"}})",
    R"({"text": 0})",
    R"({})",
    R"([{"text": "x"}])",
    R"("text")",
    "{\"text\": \"gr\xC3\xBC\xC3\x9F\x65 \xE4\xB8\xAD \xF0\x9F\x98\x80\"}",
};

TEST(JsonLine, FindsTheField) {
  std::string text;
  EXPECT_EQ(kind_of(kLines[0], &text), JsonFieldKind::string);
  EXPECT_EQ(text, "plain");
  EXPECT_EQ(kind_of(kLines[1], &text), JsonFieldKind::string);
  EXPECT_EQ(text, "a\"b\\c/d\b\f\n\r\t\u00e9\u4e2d\U0001F600");
  EXPECT_EQ(kind_of(kLines[2], &text), JsonFieldKind::string);
  EXPECT_EQ(kind_of(kLines[3]), JsonFieldKind::null);
  EXPECT_EQ(kind_of(kLines[4]), JsonFieldKind::other);
  EXPECT_EQ(kind_of(kLines[6]), JsonFieldKind::missing);
  EXPECT_EQ(kind_of(kLines[7]), JsonFieldKind::not_an_object);
  EXPECT_EQ(kind_of(R"({"text": "first", "text": "second"})", &text), JsonFieldKind::string);
  EXPECT_EQ(text, "first");
}

TEST(JsonLine, RefusesWhatIsNotJson) {
  for (const char* line : {"",
                           "{",
                           "{\"text\": \"x\"",
                           "{\"text\": \"x\",}",
                           "{\"text\" \"x\"}",
                           "{text: 1}",
                           "{\"text\": 'x'}",
                           "{\"text\": \"x\"} x",
                           "{\"text\": \"\\x\"}",
                           "{\"text\": \"\\u12\"}",
                           "{\"text\": \"\\ud800\"}",
                           "{\"text\": \"\\udc00\"}",
                           "{\"text\": \"\\ud800\\u0041\"}",
                           "{\"text\": 01}",
                           "{\"text\": 1.}",
                           "{\"text\": -}",
                           "{\"text\": 1e}",
                           "{\"text\": .5}",
                           "{\"text\": +1}",
                           "{\"text\": nul}",
                           "{\"text\": NaN}",
                           "{\"a\": \"\t\"}",
                           "{\"text\": \"\xFF\"}",
                           "{\"text\": \"\xC0\x80\"}",
                           "{\"text\": \"\xED\xA0\x80\"}",
                           "{\"text\": \"\xF4\x90\x80\x80\"}"}) {
    EXPECT_EQ(kind_of(line), JsonFieldKind::malformed) << line;
  }
  EXPECT_EQ(kind_of("{\"text\": " + std::string(64, '[') + std::string(64, ']') + "}"), JsonFieldKind::other);
  EXPECT_EQ(kind_of("{\"text\": " + std::string(100'000, '[')), JsonFieldKind::malformed);
  std::string text;
  EXPECT_EQ(find_json_string("{\"text\": \"x\" \"y\"}", "text", text).offset, 13u);
}

TEST(JsonLine, EveryTruncationIsMalformed) {
  for (const std::string& line : kLines) {
    const std::string trimmed = line.substr(0, line.find_last_not_of(' ') + 1);
    for (std::size_t size = 0; size < trimmed.size(); ++size) {
      EXPECT_EQ(kind_of(trimmed.substr(0, size)), JsonFieldKind::malformed) << trimmed.substr(0, size);
    }
  }
}

TEST(JsonLine, AgreesWithItsPeerOnDamagedLines) {
  constexpr std::string_view kBytes = "\"\\{}[]:,0123456789.eE+-truefalsn u/bd8x\t\x80\xBF\xC3\xE4\xED\xF0";
  RandomStream random(4, "damage");
  int malformed = 0;
  for (int round = 0; round < 40'000; ++round) {
    std::string line = kLines[random.below(kLines.size())];
    for (std::uint64_t i = random.below(3) + 1; i > 0; --i) {
      line[random.below(line.size())] = kBytes[random.below(kBytes.size())];
    }
    std::string text, expected_text;
    const JsonFieldKind expected = peer(line, &expected_text);
    ASSERT_EQ(kind_of(line, &text), expected) << line;
    if (expected == JsonFieldKind::string) {
      ASSERT_EQ(text, expected_text) << line;
    }
    malformed += expected == JsonFieldKind::malformed;
  }
  EXPECT_GT(malformed, 10'000);
  EXPECT_LT(malformed, 39'000);
}

}  // namespace
}  // namespace crope::formats
