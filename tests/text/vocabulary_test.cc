#include "crope/text/vocabulary.h"

#include <gtest/gtest.h>

#include <functional>

#include "crope/base/error.h"
#include "tests/text/fixtures.h"

namespace crope::text {
namespace {

TEST(Vocabulary, PassesItsCheck) {
  EXPECT_NO_THROW(small_vocabulary().check("test"));
}

TEST(Vocabulary, RefusesEveryKindOfDamage) {
  const auto expect_refusal = [](const char* words, const std::function<void(Vocabulary&)>& damage) {
    Vocabulary vocabulary = small_vocabulary();
    damage(vocabulary);
    try {
      vocabulary.check("here");
      ADD_FAILURE() << "passed: " << words;
    } catch (const Error& e) {
      EXPECT_NE(std::string(e.what()).find(words), std::string::npos) << e.what();
      EXPECT_EQ(std::string(e.what()).find("here: "), 0u) << e.what();
    }
  };
  expect_refusal("no token for the byte 0x61", [](Vocabulary& v) { v.tokens[65] = "zz"; });
  expect_refusal("is empty", [](Vocabulary& v) { v.tokens.back().clear(); });
  expect_refusal("are both", [](Vocabulary& v) { v.tokens.push_back("he"); });
  expect_refusal("outside the vocabulary", [](Vocabulary& v) { v.merges[0].left = 100000; });
  expect_refusal("outside the vocabulary", [](Vocabulary& v) { v.merges[0].result = -1; });
  expect_refusal("gives", [](Vocabulary& v) { v.merges[0].result = v.merges[1].result; });
  expect_refusal("twice", [](Vocabulary& v) { v.merges.push_back(v.merges[0]); });
  expect_refusal("twice", [](Vocabulary& v) { v.special_tokens.push_back(v.special_tokens[0]); });
  expect_refusal("not its place", [](Vocabulary& v) { v.special_tokens[0].id = 5; });
  expect_refusal("is empty", [](Vocabulary& v) { v.special_tokens[0].content.clear(); });
  expect_refusal("not valid UTF-8", [](Vocabulary& v) { v.special_tokens[0].content = "\xFF"; });
}

TEST(Vocabulary, FingerprintSeesEveryPart) {
  const std::string original = small_vocabulary().fingerprint();
  EXPECT_EQ(original.size(), 16u);
  EXPECT_EQ(small_vocabulary().fingerprint(), original);
  Vocabulary vocabulary = small_vocabulary();
  std::swap(vocabulary.merges[0], vocabulary.merges[1]);
  EXPECT_NE(vocabulary.fingerprint(), original);
  vocabulary = small_vocabulary();
  std::swap(vocabulary.tokens[1], vocabulary.tokens[2]);
  EXPECT_NE(vocabulary.fingerprint(), original);
  vocabulary = small_vocabulary();
  vocabulary.special_tokens.clear();
  EXPECT_NE(vocabulary.fingerprint(), original);
}

}  // namespace
}  // namespace crope::text
