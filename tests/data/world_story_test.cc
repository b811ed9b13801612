#include "crope/data/world_story.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <set>

namespace crope::data {
namespace {

// The words of a text, sorted.
std::multiset<std::string> bag_of_words(const std::string& text) {
  std::multiset<std::string> words;
  std::string word;
  for (const char c : text + " ") {
    if (std::isalnum(static_cast<unsigned char>(c))) {
      word += c;
    } else if (!word.empty()) {
      words.insert(std::exchange(word, ""));
    }
  }
  return words;
}

TEST(WorldStory, SubjectsAreMmlus) {
  const std::set<std::string_view> known = {
      "astronomy",           "conceptual_physics",    "elementary_mathematics", "formal_logic",
      "high_school_biology", "high_school_geography", "miscellaneous",          "nutrition"};
  EXPECT_GE(story_subjects().size(), 5u);
  for (const std::string_view subject : story_subjects()) EXPECT_TRUE(known.contains(subject)) << subject;
  EXPECT_TRUE(std::is_sorted(story_subjects().begin(), story_subjects().end()));
}

TEST(WorldStory, ComesFromTheSubjectAndTheSideAskedFor) {
  RandomStream random(2, "test");
  for (const std::string_view subject : story_subjects()) {
    for (const Side side : {Side::training, Side::benchmark}) {
      const Story story = draw_story({.side = side, .subject = subject}, random);
      EXPECT_EQ(story.subject, subject);
      EXPECT_EQ(story.fingerprint.side(), side);
      EXPECT_FALSE(story.questions.empty());
    }
  }
}

TEST(WorldStory, AQuestionHasItsAnswerAtThePlaceAskedFor) {
  RandomStream random(2, "test");
  for (int i = 0; i < 400; ++i) {
    const std::size_t place = random.below(kChoices);
    const Story story = draw_story({}, random);
    const Question question = draw_question(story, place, random);
    EXPECT_EQ(question.answer, place);
    const bool is_true = std::ranges::any_of(story.questions, [&](const Question& asked) {
      return asked.text == question.text && asked.choices[asked.answer] == question.choices[place];
    });
    EXPECT_TRUE(is_true) << story.text << " " << question.text;
    if (story.is_ordered) {
      EXPECT_EQ(question.choices, story.questions[0].choices);
    }
  }
}

TEST(WorldStory, PlacingTheAnswerKeepsItRight) {
  RandomStream random(2, "test");
  for (int i = 0; i < 400; ++i) {
    const Story story = draw_story({}, random);
    const Question& before = story.questions[random.below(story.questions.size())];
    Question after = before;
    const std::size_t place = random.below(kChoices);
    place_answer(after, place, random);
    EXPECT_EQ(after.answer, place);
    EXPECT_EQ(after.choices[place], before.choices[before.answer]);
    EXPECT_TRUE(std::is_permutation(after.choices.begin(), after.choices.end(), before.choices.begin()));
  }
}

TEST(WorldStory, PairsSayBothTruthsAndTheirRivalsTheSameWordsInAnotherOrder) {
  RandomStream random(2, "test");
  for (int i = 0; i < 400; ++i) {
    const Story story = draw_story({}, random);
    if (!story.is_paired) continue;
    const Question pair = draw_pair(story, random);
    const auto truth_of = [&](const std::string& stem) -> std::string {
      for (const Question& question : story.questions) {
        if (question.plain_stem == stem) return question.choices[question.answer];
      }
      return "nothing";
    };
    const std::string& said = pair.choices[pair.answer];
    const std::size_t joint = said.find(", and ");
    ASSERT_NE(joint, std::string::npos);
    EXPECT_EQ(said.substr(0, joint), truth_of(pair.stem));
    bool is_second_true = false;
    for (const Question& question : story.questions) {
      is_second_true |= said.substr(joint + 6) == question.plain_stem + " " + question.choices[question.answer];
    }
    EXPECT_TRUE(is_second_true) << said;
    EXPECT_EQ(bag_of_words(pair.choices[0]), bag_of_words(pair.choices[1]));
    EXPECT_EQ(bag_of_words(pair.choices[2]), bag_of_words(pair.choices[3]));
    EXPECT_EQ(std::set<std::string>(pair.choices.begin(), pair.choices.end()).size(), kChoices);
  }
}

}  // namespace
}  // namespace crope::data
