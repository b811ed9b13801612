#include "crope/data/world_order.h"

#include <gtest/gtest.h>

#include <map>
#include <regex>
#include <set>

namespace crope::data {
namespace {

constexpr int kOrderStories = 300;

std::vector<std::smatch> matches_of(const std::string& text, const std::regex& pattern) {
  return {std::sregex_iterator(text.begin(), text.end(), pattern), std::sregex_iterator()};
}

TEST(WorldOrder, ComparisonsFollowFromThePairs) {
  const std::set<std::string> more = {"taller", "older", "faster", "stronger", "louder"};
  const std::set<std::string> most = {"tallest", "oldest", "fastest", "strongest", "loudest"};
  const std::regex pair(R"((\w+) is (\w+) than (\w+)\.)"), asked(R"(Who is the (\w+)\?)");
  RandomStream random(5, "test");
  for (int i = 0; i < kOrderStories; ++i) {
    const Story story = draw_comparison(random);
    std::map<std::string, int> named, above, below;
    for (const std::smatch& match : matches_of(story.text, pair)) {
      const bool is_more = more.contains(match[2]);
      ++named[match[1]];
      ++named[match[3]];
      ++above[match[is_more ? 3 : 1]];  // somebody is above this one
      ++below[match[is_more ? 1 : 3]];
    }
    for (const auto& [name, count] : named) EXPECT_EQ(count, 2) << name << " in " << story.text;
    ASSERT_EQ(story.questions.size(), 2u);
    for (const Question& question : story.questions) {
      std::smatch quality;
      ASSERT_TRUE(std::regex_match(question.text, quality, asked));
      const auto& others = most.contains(quality[1]) ? above : below;
      for (std::size_t c = 0; c < kChoices; ++c) {
        EXPECT_EQ(others.contains(question.choices[c]), c != question.answer) << story.text << question.text;
      }
    }
  }
}

TEST(WorldOrder, AgesFollowFromTheNumbers) {
  RandomStream random(5, "test");
  for (int i = 0; i < kOrderStories; ++i) {
    const Story story = draw_ages(random);
    std::map<std::string, int> age;
    for (const std::smatch& match : matches_of(story.text, std::regex(R"((\w+) is (\d+) years old)"))) {
      age[match[1]] = std::stoi(match[2]);
    }
    for (const Question& question : story.questions) {
      const bool is_oldest = question.text == "Who is the oldest?";
      const int answer = age.at(question.choices[question.answer]);
      for (const auto& [name, years] : age) EXPECT_TRUE(is_oldest ? years <= answer : years >= answer) << story.text;
    }
  }
}

TEST(WorldOrder, NeighboursStandSideBySide) {
  RandomStream random(5, "test");
  for (int i = 0; i < kOrderStories; ++i) {
    const Story story = draw_neighbours(random);
    for (const Question& question : story.questions) {
      // The key is the one of the row that is not a choice; the choices keep the order of the row.
      const bool is_after =
          question.text.find("after") != std::string::npos || question.text.find("behind") != std::string::npos;
      const auto last_word = [](const std::string& text) {
        const std::string trimmed = text.ends_with(" one") ? text.substr(0, text.size() - 4) : text;
        return trimmed.substr(trimmed.find_last_of(' ') + 1);
      };
      const auto place_of = [&](const std::string& word) {
        std::smatch match;
        // The last time: a walker's name or "a bag" may stand before the row.
        const auto all = matches_of(story.text, std::regex("\\b" + word + "\\b"));
        return all.empty() ? std::ptrdiff_t{-1} : all.back().position();
      };
      std::string key = question.text.substr(0, question.text.size() - 1);
      key = last_word(key);
      const std::ptrdiff_t key_place = place_of(key);
      ASSERT_GE(key_place, 0) << question.text;
      std::ptrdiff_t nearest = -1;
      std::size_t found = kChoices;
      for (std::size_t c = 0; c < kChoices; ++c) {
        const std::ptrdiff_t place = place_of(last_word(question.choices[c]));
        ASSERT_GE(place, 0) << question.choices[c];
        const std::ptrdiff_t distance = is_after ? place - key_place : key_place - place;
        if (distance > 0 && (nearest < 0 || distance < nearest)) {
          nearest = distance;
          found = c;
        }
      }
      EXPECT_EQ(found, question.answer) << story.text << " " << question.text;
    }
  }
}

}  // namespace
}  // namespace crope::data
