#include "crope/text/spelled_vocabulary.h"

#include <gtest/gtest.h>

#include <functional>

#include "crope/base/error.h"
#include "crope/base/file.h"
#include "tests/temporary_folder.h"
#include "tests/text/fixtures.h"

namespace crope::text {
namespace {

SpelledVocabulary spelled() {
  SpelledVocabulary result{.origin = "here", .tokens = {}, .special_tokens = {}, .merges = {}};
  for (const std::uint8_t byte : bytes_in_vocabulary_order()) {
    result.tokens.emplace_back(spell_bytes(std::string(1, static_cast<char>(byte))), result.tokens.size());
  }
  result.tokens.emplace_back("Ġt", 256);
  result.merges.emplace_back("Ġ", "t");
  result.special_tokens.push_back({"<|end of it|>", 257});
  return result;
}

void expect_refusal(const char* words, const std::function<void(SpelledVocabulary&)>& damage) {
  SpelledVocabulary vocabulary = spelled();
  damage(vocabulary);
  try {
    unspell(vocabulary);
    ADD_FAILURE() << "passed: " << words;
  } catch (const Error& e) {
    EXPECT_NE(std::string(e.what()).find(words), std::string::npos) << e.what();
  }
}

TEST(SpelledVocabulary, BecomesBytes) {
  const Vocabulary vocabulary = unspell(spelled());
  EXPECT_EQ(vocabulary.tokens.size(), 258u);
  EXPECT_EQ(vocabulary.tokens[256], " t");
  EXPECT_EQ(vocabulary.tokens[257], "<|end of it|>");
  EXPECT_EQ(vocabulary.merges[0].result, 256);
}

TEST(SpelledVocabulary, RefusesIdsThatAreNotARun) {
  expect_refusal("two tokens have the id 3", [](auto& v) { v.tokens[4].second = 3; });
  expect_refusal("ids must run from 0 to 257", [](auto& v) { v.tokens[256].second = 258; });
  expect_refusal("ids must run", [](auto& v) { v.tokens[256].second = std::int64_t{1} << 40; });
  expect_refusal("ids must run", [](auto& v) { v.tokens[0].second = -1; });
  expect_refusal("two tokens have the id 256", [](auto& v) { v.special_tokens[0].id = 256; });
  expect_refusal("in model.vocab and", [](auto& v) { v.special_tokens[0] = {"a", 257}; });
}

TEST(SpelledVocabulary, RefusesTokensAndMergesThatDoNotFit) {
  expect_refusal("appears twice", [](auto& v) { v.tokens[256].first = "a"; });
  expect_refusal("byte alphabet", [](auto& v) { v.tokens[256].first = "▁the"; });
  expect_refusal("added_tokens has", [](auto& v) { v.special_tokens.push_back(v.special_tokens[0]); });
  expect_refusal("needs the token 'Ġx'", [](auto& v) { v.merges.emplace_back("Ġ", "x"); });
  expect_refusal("needs the token 'zz'", [](auto& v) { v.merges.emplace_back("zz", "x"); });
  expect_refusal("twice", [](auto& v) { v.merges.emplace_back("Ġ", "t"); });
}

TEST(SpelledVocabulary, SplitsMerges) {
  EXPECT_EQ(split_merge("a b", "here", 0), (std::pair<std::string, std::string>("a", "b")));
  for (const char* line : {"", "a", "a ", " b", "a b c", "a  b"})
    EXPECT_THROW(split_merge(line, "here", 3), Error) << line;
}

TEST(SpelledVocabulary, TakesTheMembersOutOfTheJson) {
  const test::TemporaryFolder folder;
  write_file(folder / "a.json", R"({"model": {"vocab": {"a": 0, "b": 1}, "merges": ["a b"]}, "vocab": {"c": 2}})");
  std::vector<std::pair<std::string, std::int64_t>> members;
  const Json rest = parse_with_vocabulary(folder / "a.json", {"model", "vocab"}, members);
  EXPECT_EQ(members, (std::vector<std::pair<std::string, std::int64_t>>{{"a", 0}, {"b", 1}}));
  EXPECT_EQ(rest["vocab"]["c"], 2);
  EXPECT_EQ(rest["model"]["merges"].size(), 1u);
  EXPECT_TRUE(rest["model"]["vocab"].empty());
}

TEST(SpelledVocabulary, RefusesBrokenJson) {
  const test::TemporaryFolder folder;
  const std::string deep = std::string(1000, '[') + std::string(1000, ']');
  for (const std::string& text :
       {std::string("{"), std::string(), std::string("{\"a\": \"x\"}"), std::string("{\"a\": 1.5}"),
        std::string("{\"a\": {\"b\": 1}}"), std::string("{\"a\": [1]}"), std::string("[1]"),
        std::string("{\"\xFF\": 1}"), deep}) {
    write_file(folder / "a.json", text);
    std::vector<std::pair<std::string, std::int64_t>> members;
    EXPECT_THROW(parse_with_vocabulary(folder / "a.json", {}, members), Error) << text.substr(0, 40);
  }
}

}  // namespace
}  // namespace crope::text
