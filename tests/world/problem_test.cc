#include "crope/world/problem.h"

#include <gtest/gtest.h>

#include <regex>
#include <set>
#include <string>

namespace crope::world {
namespace {

// Every calculation "x op y = r" of a worked answer is right, and the last result is the answer.
TEST(Problem, WorkedAnswersAreRight) {
  static const std::regex calculation(R"((\d+) ([-+*]) (\d+) = (\d+))");
  RandomStream random(1, "test");
  std::set<std::string> operators;
  for (int i = 0; i < 500; ++i) {
    const Problem problem = draw_problem(random);
    const std::string& answer = problem.answer;
    int last = -1;
    for (std::sregex_iterator match(answer.begin(), answer.end(), calculation), end; match != end; ++match) {
      const int x = std::stoi((*match)[1]), y = std::stoi((*match)[3]), r = std::stoi((*match)[4]);
      const char op = (*match)[2].str()[0];
      operators.insert((*match)[2]);
      EXPECT_EQ(r, op == '+' ? x + y : op == '-' ? x - y : x * y) << answer;
      EXPECT_GT(r, 0) << answer;
      last = r;
    }
    EXPECT_EQ(answer.substr(answer.find("#### ")), "#### " + std::to_string(last)) << answer;
    EXPECT_EQ(problem.question.back(), '?');
  }
  EXPECT_EQ(operators, (std::set<std::string>{"+", "-", "*"}));
}

TEST(Problem, TheFingerprintIsTheStory) {
  RandomStream random(2, "test"), again(2, "test");
  const Problem one = draw_problem(random);
  EXPECT_EQ(one.fingerprint.value(), draw_problem(again).fingerprint.value());
  EXPECT_NE(one.fingerprint.value(), draw_problem(random).fingerprint.value());
}

}  // namespace
}  // namespace crope::world
