#include "crope/data/world_narrative.h"

#include <gtest/gtest.h>

#include <map>
#include <regex>
#include <set>

#include "crope/data/world_tables.h"

namespace crope::data {
namespace {

constexpr int kDays = 300;

Pronoun pronoun_of(const std::string& name) {
  for (const Phrase& person : words_of(Pool::person)) {
    if (person.text == name) return person.pronoun;
  }
  return Pronoun::it;
}

std::string word_before_end(const std::string& sentence) {
  return sentence.substr(sentence.find_last_of(' ') + 1);
}

// Reads a day as a person does: follows who is meant, where everybody is and who has what, and fails where the
// sentences contradict each other.
class Reader {
 public:
  void read(const std::string& sentence) {
    std::smatch match;
    const auto is = [&](const char* pattern) { return std::regex_match(sentence, match, std::regex(pattern)); };
    if (is(R"((?:It was morning, and |One morning |Early in the day )(\w+) was (?:in|at|on) the (\w+))")) {
      place_[subject(match[1])] = match[2];
    } else if (
        is(R"(At the end of the day the (\w+) was (?:in|at|on) the (\w+)|The (\w+) was (?:in|at|on) the (\w+))")) {
      const bool is_first = match[1].matched;
      EXPECT_EQ(place_[match[is_first ? 1 : 3]], match[is_first ? 2 : 4].str()) << sentence;
    } else if (is(R"((?:At the end of the day )?(\w+) had the (\w+))")) {
      EXPECT_EQ(owner_[match[2]], subject(match[1])) << sentence;
    } else if (
        is(R"((?:Then |After a while |At noon |In the afternoon |In the evening )?(\w+) (?:went|walked|ran) to the (\w+))")) {
      std::string& place = place_[subject(match[1])];
      EXPECT_NE(place, match[2].str()) << "went where they were: " << sentence;
      place = match[2];
    } else if (is(R"((\w+) (?:found|saw) (?:an?|the) (\w+) .*(?:picked it up|took it))") ||
               is(R"((?:There was|The) (?:an? )?(\w+) .*and (\w+) took it)")) {
      const bool thing_first = sentence.starts_with("There was") || sentence.starts_with("The ");
      const std::string thing = match[thing_first ? 1 : 2];
      EXPECT_TRUE(owner_[thing].empty()) << sentence;
      owner_[thing] = subject(match[thing_first ? 2 : 1]);
      if (place_.contains(thing)) {
        EXPECT_EQ(place_[thing], place_[owner_[thing]]) << sentence;
      }
    } else if (is(R"((\w+) (?:gave|handed) the (\w+) to (\w+))")) {
      hand_over(subject(match[1]), match[2], match[3], sentence);
    } else if (is(R"((\w+) got the (\w+) from (\w+))")) {
      hand_over(match[3], match[2], match[1], sentence);
    } else if (is(R"((\w+) (?:put the|did not want the) (\w+) .*)")) {
      const std::string who = subject(match[1]);
      EXPECT_EQ(owner_[match[2]], who) << sentence;
      owner_[match[2]].clear();
      place_[match[2]] = place_[who];
    } else if (is(R"(There (\w+) met (\w+))")) {
      EXPECT_EQ(place_[subject(match[1])], place_[match[2]]) << sentence;
    } else if (is(R"((\w+) was (?:already )?(?:in|at|on) the (\w+))")) {
      const std::string who = subject(match[1]);
      if (!place_.contains(who)) place_[who] = match[2];
      EXPECT_EQ(place_[who], match[2].str()) << sentence;
    } else if (is(R"((\w+) .*, so (\w+) .*)")) {
      const bool is_cause_personal = pronoun_of(match[1]) != Pronoun::it;  // "Mia was hungry", not "It began to rain"
      subject(match[is_cause_personal ? 1 : 2]);
    }
  }

 private:
  void hand_over(const std::string& from, const std::string& thing, const std::string& to,
                 const std::string& sentence) {
    EXPECT_EQ(owner_[thing], from) << sentence;
    EXPECT_EQ(place_[from], place_[to]) << sentence;
    owner_[thing] = to;
  }

  // Whom a name or a pronoun means; a pronoun means the last person spoken of with that pronoun.
  std::string subject(const std::string& word) {
    if (word == "she" || word == "She") return last_[Pronoun::she];
    if (word == "he" || word == "He") return last_[Pronoun::he];
    if (word == "his" || word == "her") return {};
    return last_[pronoun_of(word)] = word;
  }

  std::map<std::string, std::string> place_, owner_;
  std::map<Pronoun, std::string> last_;
};

TEST(WorldNarrative, ADayDoesNotContradictItself) {
  RandomStream random(4, "test");
  for (int i = 0; i < kDays; ++i) {
    const std::string day = tell_day(random);
    Reader reader;
    for (std::size_t begin = 0; begin < day.size();) {
      const std::size_t end = day.find('.', begin);
      ASSERT_NE(end, std::string::npos);
      reader.read(day.substr(begin, end - begin));
      begin = end + 2;
    }
    if (HasFailure()) FAIL() << day;
  }
}

TEST(WorldNarrative, FactsStandInTheTables) {
  RandomStream random(4, "test");
  std::set<std::string> topics;
  for (int i = 0; i < 200; ++i) {
    const std::string text = tell_facts(random);
    topics.insert(text.substr(0, text.find('.')));
    EXPECT_TRUE(text.ends_with("."));
    EXPECT_EQ(word_before_end(text).find('{'), std::string::npos);
  }
  EXPECT_GE(topics.size(), kRelationCount - 1);
}

}  // namespace
}  // namespace crope::data
