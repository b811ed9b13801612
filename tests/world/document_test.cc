#include "crope/world/document.h"

#include <gtest/gtest.h>

#include <set>

namespace crope::world {
namespace {

TEST(Document, IsTheSameForTheSameSeedAndIndex) {
  EXPECT_EQ(make_document(1, 7), make_document(1, 7));
  EXPECT_NE(make_document(1, 7), make_document(1, 8));
  EXPECT_NE(make_document(1, 7), make_document(2, 7));
}

TEST(Document, EveryFormOfTheBenchmarksIsAmongThem) {
  int exams = 0, lessons = 0, problems = 0, naming = 0, sorting = 0, stories = 0;
  constexpr int kDocuments = 2000;
  for (int i = 0; i < kDocuments; ++i) {
    const std::string text = make_document(1, static_cast<std::uint64_t>(i));
    EXPECT_GE(text.size(), 40u) << text;
    EXPECT_LE(text.size(), 1500u) << text;
    exams += text.starts_with("The following are multiple choice questions") ? 1 : 0;
    lessons += text.starts_with("Here are four kinds.") ? 1 : 0;
    problems += text.starts_with("Question: ") ? 1 : 0;
    naming += text.starts_with("Naming things: ") ? 1 : 0;
    sorting += text.starts_with("Sorting words: ") ? 1 : 0;
    stories += text.starts_with("One morning ") ? 1 : 0;
  }
  // Their weights are 20, 8, 20, 20/2, 30/2 and 1 of 100.
  EXPECT_NEAR(exams, 400, 75);
  EXPECT_NEAR(lessons, 160, 50);
  EXPECT_NEAR(problems, 400, 75);
  EXPECT_NEAR(naming, 200, 55);
  EXPECT_NEAR(sorting, 300, 65);
  EXPECT_GT(stories, 0);
}

TEST(Document, PromptsHaveTheOfficialForms) {
  EXPECT_EQ(exam_heading("high_school_biology"),
            "The following are multiple choice questions (with answers) about high school biology.\n\n");
  RandomStream random(1, "test");
  const Item item = draw_naming(subjects()[0], 2, Side::training, random);
  EXPECT_EQ(exam_prompt(item), item.context + " " + item.question + "\nA. " + item.choices[0] + "\nB. " +
                                   item.choices[1] + "\nC. " + item.choices[2] + "\nD. " + item.choices[3] +
                                   "\nAnswer:");
  const Problem problem = draw_problem(random);
  EXPECT_EQ(problem_prompt(problem), "Question: " + problem.question + "\nAnswer:");
}

}  // namespace
}  // namespace crope::world
