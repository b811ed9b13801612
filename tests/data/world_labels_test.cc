// The answers are found again from the words of the story alone.
#include "crope/data/world_labels.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <regex>
#include <set>

namespace crope::data {
namespace {

struct Shown {
  std::string family, thing;  // "fruit", "pear"
};

// By label: "card A".
std::map<std::string, Shown> read_labels(const std::string& text) {
  static const std::regex sentence(R"(([A-Z]\w+ [ABCD]) has an? (\w+), the (\w+)\.)");
  std::map<std::string, Shown> told;
  for (std::sregex_iterator it(text.begin(), text.end(), sentence), end; it != end; ++it) {
    std::string holder = (*it)[1];
    holder[0] = static_cast<char>(std::tolower(static_cast<unsigned char>(holder[0])));
    told[holder] = {(*it)[2], (*it)[3]};
  }
  return told;
}

TEST(WorldLabels, EverySubjectHasAKind) {
  std::set<std::string_view> subjects, names;
  for (const LabelKind& kind : label_kinds()) {
    EXPECT_TRUE(subjects.insert(kind.subject).second) << kind.subject;
    EXPECT_TRUE(names.insert(kind.name).second) << kind.name;
  }
  EXPECT_TRUE(std::equal(subjects.begin(), subjects.end(), story_subjects().begin(), story_subjects().end()));
}

TEST(WorldLabels, AnswersFollowFromTheText) {
  const std::regex of_the_label(R"(Which \w+ has the (\w+)\?)"), of_the_thing(R"(What is on (\w+ [ABCD])\?)");
  RandomStream random(5, "test");
  for (const LabelKind& kind : label_kinds()) {
    for (int i = 0; i < 100; ++i) {
      const LabelStories stories = draw_labels(kind, random);
      EXPECT_EQ(stories.labels.text, stories.things.text);
      EXPECT_EQ(stories.labels.fingerprint.value(), stories.things.fingerprint.value());
      const auto told = read_labels(stories.labels.text);
      ASSERT_EQ(told.size(), kChoices) << stories.labels.text;
      for (std::size_t q = 0; q < kChoices; ++q) {
        std::smatch match;
        const Question& label = stories.labels.questions.at(q);
        ASSERT_TRUE(std::regex_match(label.text, match, of_the_label)) << label.text;
        EXPECT_EQ(told.at(label.choices[label.answer]).family, match[1]) << stories.labels.text;
        const Question& thing = stories.things.questions.at(q);
        ASSERT_TRUE(std::regex_match(thing.text, match, of_the_thing)) << thing.text;
        EXPECT_EQ("the " + told.at(match[1]).thing, thing.choices[thing.answer]) << stories.labels.text;
      }
    }
  }
}

TEST(WorldLabels, LabelsStandInTheirOrderAndAreToldInAny) {
  RandomStream random(5, "test");
  std::set<std::string> first_told;
  for (int i = 0; i < 200; ++i) {
    const Story story = draw_labels(label_kinds()[0], random).labels;
    EXPECT_TRUE(story.is_ordered);
    for (std::size_t q = 0; q < kChoices; ++q) {
      EXPECT_EQ(story.questions[q].answer, q);
      EXPECT_EQ(story.questions[q].choices[q].back(), static_cast<char>('A' + q));
    }
    first_told.insert(story.text.substr(0, story.text.find(" has")));
  }
  EXPECT_EQ(first_told.size(), kChoices);
}

}  // namespace
}  // namespace crope::data
