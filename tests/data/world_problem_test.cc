#include "crope/data/world_problem.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <functional>
#include <map>
#include <regex>

namespace crope::data {
namespace {

std::vector<int> numbers_of(const std::string& text) {
  static const std::regex digits(R"(\d+)");
  std::vector<int> numbers;
  for (std::sregex_iterator it(text.begin(), text.end(), digits), end; it != end; ++it) {
    numbers.push_back(std::stoi(it->str()));
  }
  return numbers;
}

using Numbers = std::vector<int>;

// What a reader computes from the numbers in the order in which the problem names them.
const std::map<std::string_view, std::function<int(const Numbers&)>> kSolutions = {
    {"get", [](const Numbers& n) { return n[0] + n[1]; }},
    {"give", [](const Numbers& n) { return n[0] - n[1]; }},
    {"boxes", [](const Numbers& n) { return n[0] * n[1]; }},
    {"find_and_lose", [](const Numbers& n) { return n[0] + n[1] - n[2]; }},
    {"more_than", [](const Numbers& n) { return 2 * n[0] + n[1]; }},
    {"twice", [](const Numbers& n) { return 3 * n[0]; }},
    {"price", [](const Numbers& n) { return n[0] * n[1]; }},
    {"change", [](const Numbers& n) { return n[0] - n[1] * n[2]; }},
    {"share", [](const Numbers& n) { return n[0] / n[1]; }},
    {"farm", [](const Numbers& n) { return n[0] + n[1] - n[2]; }},
    {"pages", [](const Numbers& n) { return n[0] * n[1]; }},
    {"ages", [](const Numbers& n) { return n[0] + n[1] + n[2]; }},
    {"boxes_and_more", [](const Numbers& n) { return n[0] * n[1] + n[2]; }},
    {"difference", [](const Numbers& n) { return n[0] - n[1]; }},
    {"three_days", [](const Numbers& n) { return n[0] + n[1] + n[2]; }},
};

TEST(WorldProblem, TheAnswerFollowsFromTheQuestion) {
  RandomStream random(6, "test");
  std::map<std::string_view, int> seen;
  for (int i = 0; i < 2000; ++i) {
    const Problem problem = draw_problem(Side::training, random);
    const Numbers numbers = numbers_of(problem.text + " " + problem.question);
    EXPECT_EQ(kSolutions.at(problem.kind)(numbers), problem.answer) << problem.text << " " << problem.question;
    if (problem.kind == "share") {
      EXPECT_EQ(numbers[0] % numbers[1], 0) << problem.text;
    }
    EXPECT_GT(problem.answer, 0);
    ++seen[problem.kind];
  }
  EXPECT_EQ(seen.size(), kSolutions.size());
}

TEST(WorldProblem, EveryStepIsRightAndTheLastOneIsTheAnswer) {
  const std::regex step(R"((\d+) ([-+*/]) (\d+) = (\d+))");
  RandomStream random(7, "test");
  for (int i = 0; i < 2000; ++i) {
    const Problem problem = draw_problem(Side::benchmark, random);
    int last = 0;
    for (const std::string& text : problem.steps) {
      std::smatch match;
      ASSERT_TRUE(std::regex_search(text, match, step)) << text;
      const int x = std::stoi(match[1]), y = std::stoi(match[3]);
      const char operation = match[2].str()[0];
      last = std::stoi(match[4]);
      EXPECT_EQ(last, operation == '+' ? x + y : operation == '-' ? x - y : operation == '*' ? x * y : x / y) << text;
    }
    EXPECT_EQ(last, problem.answer);
    const std::string worked = worked_answer(problem);
    EXPECT_TRUE(worked.ends_with("\n#### " + std::to_string(problem.answer))) << worked;
  }
}

TEST(WorldProblem, SidesDoNotMix) {
  RandomStream random(8, "test");
  for (int i = 0; i < 200; ++i) {
    EXPECT_EQ(draw_problem(Side::training, random).fingerprint.side(), Side::training);
    EXPECT_EQ(draw_problem(Side::benchmark, random).fingerprint.side(), Side::benchmark);
  }
}

TEST(WorldProblem, ChoicesAreNotInTheTextAndTheAnswerHasNoFavouriteRank) {
  RandomStream random(9, "test");
  std::array<int, kChoices> ranks{};
  constexpr int kCount = 2000;
  for (int i = 0; i < kCount; ++i) {
    const Story story = draw_counting(random);
    const Question& question = story.questions.at(0);
    const Numbers given = numbers_of(story.text + " " + question.text);
    Numbers choices;
    for (const std::string& choice : question.choices) choices.push_back(numbers_of(choice).at(0));
    for (const int n : choices) {
      EXPECT_GT(n, 0);
      EXPECT_EQ(std::count(given.begin(), given.end(), n), 0) << story.text << " " << n;
      EXPECT_EQ(std::count(choices.begin(), choices.end(), n), 1);
    }
    const int answer = choices[question.answer];
    ++ranks[static_cast<std::size_t>(std::count_if(choices.begin(), choices.end(), [&](int n) { return n < answer; }))];
  }
  const double error = std::sqrt(kCount * 0.25 * 0.75);
  for (const int count : ranks) EXPECT_NEAR(count, kCount * 0.25, 3 * error);
}

}  // namespace
}  // namespace crope::data
