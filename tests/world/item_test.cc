#include "crope/world/item.h"

#include <gtest/gtest.h>

#include <set>

namespace crope::world {
namespace {

const Kind& kind_of(std::string_view word) {
  for (const Kind& kind : kinds()) {
    for (const std::string_view each : kind.words) {
      if (each == word) return kind;
    }
  }
  ADD_FAILURE() << word << " names no kind";
  return kinds()[0];
}

// "Wednesday" of "... but Wednesday?".
std::string last_word(std::string text) {
  text.pop_back();
  return text.substr(text.rfind(' ') + 1);
}

TEST(Item, NamingAsksForTheKindOfTheLastWord) {
  RandomStream random(1, "test");
  for (const Subject& subject : subjects()) {
    for (std::size_t answer = 0; answer < kChoices; ++answer) {
      const Item item = draw_naming(subject, answer, Side::training, random);
      EXPECT_EQ(item.answer, answer);
      for (std::size_t i = 0; i < kChoices; ++i) EXPECT_EQ(item.choices[i], subject.kinds[i]->name);
      const std::string asked = last_word(item.question);
      EXPECT_EQ(kind_of(asked).name, item.choices[answer]) << item.question;
      EXPECT_EQ(last_word(item.short_question), asked);
      EXPECT_NE(item.context.find(asked), std::string::npos);
      EXPECT_EQ(item.subject, subject.name);
    }
  }
}

TEST(Item, SortingAsksForTheWordOfAKind) {
  RandomStream random(2, "test");
  for (const Subject& subject : subjects()) {
    for (std::size_t answer = 0; answer < kChoices; ++answer) {
      const Item item = draw_sorting(subject, answer, Side::training, random);
      EXPECT_EQ(item.answer, answer);
      EXPECT_EQ(kind_of(item.choices[answer]).name, last_word(item.question)) << item.question;
      std::set<std::string> words(item.choices.begin(), item.choices.end());
      EXPECT_EQ(words.size(), kChoices);
      for (const std::string& word : words) EXPECT_NE(item.context.find(word), std::string::npos);
    }
  }
}

TEST(Item, TheSameWordsHaveOneFingerprintPerFamily) {
  RandomStream random(3, "test"), again(3, "test");
  const Item naming = draw_naming(subjects()[0], 1, Side::training, random);
  EXPECT_EQ(naming.fingerprint.value(), draw_naming(subjects()[0], 1, Side::training, again).fingerprint.value());
  RandomStream other(3, "test");
  EXPECT_NE(naming.fingerprint.value(), draw_sorting(subjects()[0], 1, Side::training, other).fingerprint.value());
}

}  // namespace
}  // namespace crope::world
