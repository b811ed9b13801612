#include "crope/data/world_sorting.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <regex>
#include <set>

#include "tests/data/word_checks.h"

namespace crope::data {
namespace {

using test::count_word;

const Category* category_of(const SortingKind& kind, std::string_view word) {
  for (const Category* category : kind.categories) {
    for (const Phrase& member : category->members) {
      if (member.text == word) return category;
    }
  }
  return nullptr;
}

TEST(WorldSorting, EverySubjectHasFiveCategoriesWithNoWordInTwo) {
  std::set<std::string_view> subjects;
  for (const SortingKind& kind : sorting_kinds()) {
    EXPECT_TRUE(subjects.insert(kind.subject).second) << kind.subject;
    EXPECT_GE(kind.categories.size(), kChoices + 1) << kind.subject;
    std::set<std::string_view> words;
    for (const Category* category : kind.categories) {
      EXPECT_GE(category->members.size(), 4u) << category->name.text;
      EXPECT_TRUE(words.insert(category->name.text).second) << category->name.text;
      for (const Phrase& member : category->members) EXPECT_TRUE(words.insert(member.text).second) << member.text;
    }
  }
  EXPECT_TRUE(std::equal(subjects.begin(), subjects.end(), story_subjects().begin(), story_subjects().end()));
}

// The word is found again from the category that stands last in the question.
TEST(WorldSorting, TheAnswerIsOfTheCategoryAskedFor) {
  const std::regex asked(R"(Which word is not an? \w+, an? \w+ or an? \w+, but an? (\w+)\?)");
  const std::regex asked_plainly(R"(Which word is an? (\w+)\?)");
  RandomStream random(4, "test");
  for (const SortingKind& kind : sorting_kinds()) {
    for (int i = 0; i < 50; ++i) {
      const Story story = draw_sorting(kind, random);
      EXPECT_EQ(story.subject, kind.subject);
      ASSERT_EQ(story.questions.size(), kChoices);
      for (const Question& question : story.questions) {
        std::smatch match, plain;
        ASSERT_TRUE(std::regex_match(question.text, match, asked)) << question.text;
        ASSERT_TRUE(std::regex_match(question.plain_text, plain, asked_plainly)) << question.plain_text;
        EXPECT_EQ(match[1], plain[1]);
        for (std::size_t c = 0; c < kChoices; ++c) {
          const Category* category = category_of(kind, question.choices[c]);
          ASSERT_NE(category, nullptr) << question.choices[c];
          EXPECT_EQ(category->name.text == match[1].str(), c == question.answer) << question.text;
        }
      }
    }
  }
}

// Each choice stands once in the story, and the category of each once in the question: counting words tells nothing.
TEST(WorldSorting, WordsAndCategoriesStandOnceEach) {
  RandomStream random(4, "test");
  for (const SortingKind& kind : sorting_kinds()) {
    for (int i = 0; i < 50; ++i) {
      const Story story = draw_sorting(kind, random);
      for (const Question& question : story.questions) {
        for (const std::string& choice : question.choices) {
          EXPECT_EQ(count_word(story.text, choice), 1u) << story.text;
          const std::string_view category = category_of(kind, choice)->name.text;
          EXPECT_EQ(count_word(question.text, category), 1u) << question.text;
          EXPECT_EQ(count_word(question.stem, category), 1u) << question.stem;
        }
      }
    }
  }
}

TEST(WorldSorting, TheFingerprintIsOfTheWordsAlone) {
  RandomStream random(4, "test");
  test::expect_fingerprints_of_words([&] { return draw_sorting(sorting_kinds()[0], random); },
                                     [](const Story& story) {
                                       const auto& choices = story.questions[0].choices;
                                       return std::set<std::string>(choices.begin(), choices.end());
                                     });
}

}  // namespace
}  // namespace crope::data
