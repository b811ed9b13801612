#include "crope/data/world_naming.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <regex>
#include <set>

#include "tests/data/word_checks.h"

namespace crope::data {
namespace {

using test::count_word;

std::set<std::string> words_of_story(const Story& story) {
  std::set<std::string> words;
  for (const Question& question : story.questions) words.insert(question.key);
  return words;
}

TEST(WorldNaming, KindsStandInTheOrderOfTheAlphabet) {
  for (const SortingKind& kind : sorting_kinds()) {
    const auto named = named_categories(kind);
    ASSERT_EQ(named.size(), kChoices);
    EXPECT_TRUE(std::is_sorted(named.begin(), named.end(), [](const Category* x, const Category* y) {
      return x->name.text < y->name.text;
    })) << kind.subject;
  }
}

// Benchmarks must not run out of fingerprints: one in eight of these is theirs.
TEST(WorldNaming, EveryKindHasSevenWords) {
  for (const SortingKind& kind : sorting_kinds()) {
    for (const Category* category : named_categories(kind)) {
      EXPECT_GE(category->members.size(), 7u) << category->name.text;
    }
  }
}

// The kind is found again from the word that stands last.
TEST(WorldNaming, TheAnswerIsTheKindOfTheWordAskedAbout) {
  const std::regex asked(R"(Of which kind is the word that is not \w+, \w+ or \w+, but (\w+)\?)");
  RandomStream random(4, "test");
  for (const SortingKind& kind : sorting_kinds()) {
    for (int i = 0; i < 50; ++i) {
      const Story story = draw_naming(kind, random);
      EXPECT_TRUE(story.is_ordered);
      EXPECT_EQ(story.subject, kind.subject);
      ASSERT_EQ(story.questions.size(), kChoices);
      for (std::size_t place = 0; place < kChoices; ++place) {
        const Question& question = story.questions[place];
        std::smatch match;
        ASSERT_TRUE(std::regex_match(question.text, match, asked)) << question.text;
        EXPECT_EQ(question.plain_text, "Of which kind is the word " + match[1].str() + "?");
        EXPECT_EQ(question.answer, place);
        const auto& members = named_categories(kind)[place]->members;
        EXPECT_TRUE(std::any_of(members.begin(), members.end(), [&](const Phrase& member) {
          return member.text == match[1].str();
        })) << question.text;
        EXPECT_EQ(question.choices[place], named_categories(kind)[place]->name.text);
      }
    }
  }
}

// One word of each choice, each as often as the others: counting tells nothing.
TEST(WorldNaming, EveryWordStandsOnceInTheStoryAndOnceInTheQuestion) {
  RandomStream random(4, "test");
  for (const SortingKind& kind : sorting_kinds()) {
    for (int i = 0; i < 50; ++i) {
      const Story story = draw_naming(kind, random);
      const std::set<std::string> words = words_of_story(story);
      ASSERT_EQ(words.size(), kChoices);
      for (const std::string& word : words) {
        EXPECT_EQ(count_word(story.text, word), 1u) << story.text;
        for (const Question& question : story.questions) {
          EXPECT_EQ(count_word(question.text, word), 1u) << question.text;
          EXPECT_EQ(count_word(question.stem, word), 1u) << question.stem;
        }
      }
    }
  }
}

TEST(WorldNaming, TheFingerprintIsOfTheWordsAlone) {
  RandomStream random(4, "test");
  test::expect_fingerprints_of_words([&] { return draw_naming(sorting_kinds()[0], random); }, words_of_story);
}

}  // namespace
}  // namespace crope::data
