// The answers are found again from the words of the story alone, by solvers that know the sentences and nothing of
// how they were made.
#include "crope/data/world_bindings.h"

#include <gtest/gtest.h>

#include <map>
#include <regex>
#include <set>

namespace crope::data {
namespace {

constexpr int kStories = 300;

const StoryKind& kind_named(std::string_view name) {
  for (const StoryKind& kind : story_kinds()) {
    if (kind.name == name) return kind;
  }
  throw std::out_of_range(std::string(name));
}

std::vector<std::string> sentences_of(const std::string& text) {
  std::vector<std::string> sentences;
  std::size_t begin = 0;
  while (begin < text.size()) {
    const std::size_t end = std::min(text.find_first_of(".?!", begin), text.size() - 1);
    sentences.push_back(text.substr(begin, end + 1 - begin));
    begin = end + 2;
  }
  return sentences;
}

// A sentence of which `words` are two groups: whose state it sets, and to what. `turned`: the groups come in the
// other order.
struct Rule {
  std::string pattern;
  bool turned = false;
};

// The state that the sentences lead to, each one overwriting what those before it set.
std::map<std::string, std::string> simulate(const std::string& text, const std::vector<Rule>& rules) {
  std::map<std::string, std::string> state;
  for (const std::string& sentence : sentences_of(text)) {
    for (const Rule& rule : rules) {
      std::smatch match;
      if (!std::regex_match(sentence, match, std::regex(rule.pattern))) continue;
      state[match[rule.turned ? 2 : 1]] = match[rule.turned ? 1 : 2];
      break;
    }
  }
  return state;
}

// Checks every question of many stories of a kind. `key_pattern` finds the key in a question.
void check_kind(std::string_view kind, const std::vector<Rule>& rules, const std::string& key_pattern) {
  RandomStream random(11, "test");
  for (int i = 0; i < kStories; ++i) {
    const Story story = draw_bindings(kind_named(kind), random);
    const auto state = simulate(story.text, rules);
    ASSERT_EQ(state.size(), kChoices) << story.text;
    for (const Question& question : story.questions) {
      std::smatch key;
      ASSERT_TRUE(std::regex_match(question.text, key, std::regex(key_pattern))) << question.text;
      ASSERT_TRUE(state.contains(key[1])) << story.text << " " << question.text;
      EXPECT_TRUE(question.choices[question.answer].ends_with(state.at(key[1])))
          << story.text << " " << question.text << " " << question.choices[question.answer];
    }
  }
}

TEST(WorldBindings, RoomsFollowFromTheText) {
  check_kind("rooms",
             {{R"((\w+) (?:went|walked|ran) to the (\w+)\.)"},
              {R"((\w+) was (?:in|at|on) the (\w+)\.)"},
              {R"(Then (\w+) left the \w+ and went to the (\w+)\.)"},
              {R"((?:After that,|Later) (\w+) (?:walked|ran) from the \w+ to the (\w+)\.)"}},
             R"((?:Where|In which place) is (\w+) now\?)");
}

TEST(WorldBindings, ContainersFollowFromTheText) {
  check_kind("containers",
             {{R"(\w+ (?:put|hid) the (\w+) in the (\w+)\.)"},
              {R"(Then \w+ moved the (\w+) from the \w+ to the (\w+)\.)"},
              {R"(Later \w+ took the (\w+) out of the \w+ and put it in the (\w+)\.)"}},
             R"((?:Where|What) is the (\w+)(?: in)? now\?)");
}

const std::vector<Rule> kGifts = {{R"((\w+) (?:had|found|got) an? (\w+)\.)", true},
                                  {R"(\w+ gave the (\w+) to (\w+)\.)"},
                                  {R"((\w+) (?:took|got) the (\w+) from \w+\.)", true}};

TEST(WorldBindings, OwnersFollowFromTheText) {
  check_kind("owners", kGifts, R"(Who has the (\w+) now\?)");
}

TEST(WorldBindings, PresentsFollowFromTheText) {
  std::vector<Rule> by_person = kGifts;
  for (Rule& rule : by_person) rule.turned = !rule.turned;
  check_kind("presents", by_person, R"(What does (\w+) have now\?)");
}

TEST(WorldBindings, DeedsFollowFromTheText) {
  check_kind("deeds", {{R"((\w+) was \w+ by (\w+)\.)", true}, {R"((\w+) \w+ (\w+)\.)"}},
             R"((?:Who|Which child) was \w+ by (\w+)\?)");
}

TEST(WorldBindings, AMapTurnsRound) {
  const std::map<std::string, std::string> opposite = {
      {"north", "south"}, {"south", "north"}, {"east", "west"}, {"west", "east"}};
  RandomStream random(11, "test");
  for (int i = 0; i < kStories; ++i) {
    const Story story = draw_bindings(kind_named("map"), random);
    auto state = simulate(
        story.text, {{R"(The (\w+) was (\w+) of the village\.)"}, {R"((\w+) of the village was the (\w+)\.)", true}});
    for (const Question& question : story.questions) {
      std::smatch key;
      ASSERT_TRUE(
          std::regex_match(question.text, key, std::regex(R"(Which way is it from the (\w+) to the village\?)")));
      std::string way = state.at(key[1]);
      way[0] = static_cast<char>(std::tolower(way[0]));
      EXPECT_EQ(question.choices[question.answer], opposite.at(way)) << story.text;
    }
  }
}

// Two hops: what was carried is where its bearer went.
TEST(WorldBindings, CarriedThingsAreWhereTheirBearersWent) {
  RandomStream random(11, "test");
  for (int i = 0; i < kStories; ++i) {
    const Story story = draw_bindings(kind_named("carrying"), random);
    const auto bearer = simulate(story.text, {{R"((\w+) (?:picked up|took) the (\w+)\.)", true}});
    const auto place = simulate(story.text, {{R"((\w+) (?:went|walked|ran) to the (\w+)\.)"}});
    for (const Question& question : story.questions) {
      std::smatch key;
      ASSERT_TRUE(std::regex_match(question.text, key, std::regex(R"(Where is the (\w+) now\?)")));
      EXPECT_TRUE(question.choices[question.answer].ends_with(place.at(bearer.at(key[1])))) << story.text;
    }
  }
}

TEST(WorldBindings, EveryKindHasFourChoicesAndAnswersEachOnce) {
  RandomStream random(12, "test");
  for (const StoryKind& kind : story_kinds()) {
    for (int i = 0; i < 50; ++i) {
      const Story story = draw_bindings(kind, random);
      ASSERT_EQ(story.questions.size(), kChoices) << kind.name;
      std::set<std::size_t> answers;
      for (const Question& question : story.questions) {
        EXPECT_EQ(std::set<std::string>(question.choices.begin(), question.choices.end()).size(), kChoices);
        EXPECT_EQ(question.choices, story.questions[0].choices);
        answers.insert(question.answer);
      }
      EXPECT_EQ(answers.size(), kChoices) << kind.name;
    }
  }
}

}  // namespace
}  // namespace crope::data
