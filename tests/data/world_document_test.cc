#include "crope/data/world_document.h"

#include <gtest/gtest.h>

#include <regex>
#include <set>
#include <sstream>

namespace crope::data {
namespace {

constexpr std::uint64_t kDocuments = 2000;

std::size_t count_words(const std::string& text) {
  std::istringstream stream(text);
  std::string word;
  std::size_t count = 0;
  while (stream >> word) ++count;
  return count;
}

TEST(WorldDocument, DependsOnSeedAndPlaceAlone) {
  EXPECT_EQ(make_document(1, 5), make_document(1, 5));
  EXPECT_NE(make_document(1, 5), make_document(1, 6));
  EXPECT_NE(make_document(1, 5), make_document(2, 5));
}

TEST(WorldDocument, ReadsAsEnglish) {
  // What must not stand anywhere.
  const std::pair<const char*, std::regex> faults[] = {
      {"a double space", std::regex("  ")},
      {"a before a vowel", std::regex(R"(\ba (?!unit)[aeiou]|(?:^|[.?!] |\n)A [aeiou])")},
      {"an before a consonant", std::regex(R"(\b[Aa]n (?:[^aeiou]|unit))")},
      {"a small letter after a sentence", std::regex(R"([.?!] [a-z])")},
      {"an open slot", std::regex("[{}]")},
      {"a space before a mark", std::regex(R"( [,.?!:])")},
      {"a doubled mark", std::regex(R"([,.?!:][,.?!:])")},
      {"a doubled word", std::regex(R"(\b(\w+) \1\b)")},
      {"one of many", std::regex(R"(\b1 \w+s\b)")},
  };
  for (std::uint64_t i = 0; i < kDocuments; ++i) {
    const std::string text = make_document(3, i);
    for (const auto& [name, fault] : faults) {
      std::smatch match;
      const bool is_found = std::regex_search(text, match, fault);
      // "Question: One ball costs 5 cents" and "A. a fruit" are no faults: a choice's letter ends with a mark.
      EXPECT_FALSE(is_found && match.prefix().str().find_last_of('\n') + 2 != match.prefix().str().size())
          << name << " '" << match.str() << "' in " << text;
    }
  }
}

TEST(WorldDocument, ParagraphsStartWithACapitalAndEndWithAMark) {
  for (std::uint64_t i = 0; i < kDocuments; ++i) {
    const std::string text = make_document(3, i);
    for (std::size_t begin = 0; begin < text.size();) {
      const std::size_t end = std::min(text.find("\n\n", begin), text.size());
      const std::string paragraph = text.substr(begin, end - begin);
      EXPECT_TRUE(std::isupper(static_cast<unsigned char>(paragraph.front()))) << paragraph;
      const std::string last_line = paragraph.substr(paragraph.find_last_of('\n') + 1);
      EXPECT_TRUE(last_line.ends_with(".") || last_line.starts_with("#### ") || last_line.starts_with("Answer: "))
          << paragraph;
      begin = end + 2;
    }
  }
}

TEST(WorldDocument, HasFifteenToThreeHundredWords) {
  std::size_t total = 0, longest = 0, shortest = 1000;
  for (std::uint64_t i = 0; i < kDocuments; ++i) {
    const std::size_t words = count_words(make_document(3, i));
    total += words;
    longest = std::max(longest, words);
    shortest = std::min(shortest, words);
  }
  EXPECT_GE(shortest, 15u);
  EXPECT_LE(longest, 330u);
  EXPECT_GE(total / kDocuments, 40u);
  EXPECT_LE(total / kDocuments, 150u);
}

TEST(WorldDocument, KeepsToAFewHundredWords) {
  std::set<std::string> words;
  const std::regex word("[A-Za-z]+");
  for (std::uint64_t i = 0; i < kDocuments; ++i) {
    const std::string text = make_document(3, i);
    for (std::sregex_iterator it(text.begin(), text.end(), word), end; it != end; ++it) {
      std::string lower = it->str();
      for (char& c : lower) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
      words.insert(lower);
    }
  }
  EXPECT_GE(words.size(), 300u);
  EXPECT_LE(words.size(), 800u);
}

TEST(WorldDocument, HoldsTheFormsOfTheBenchmarks) {
  int continuations = 0, choices = 0, problems = 0;
  for (std::uint64_t i = 0; i < kDocuments; ++i) {
    const std::string text = make_document(3, i);
    continuations += std::regex_search(text, std::regex(R"(^[A-Z][a-z ]+: [A-Z])")) && !text.starts_with("Question");
    choices += text.starts_with("The following are multiple choice questions (with answers) about ") &&
               std::regex_search(text, std::regex(R"(\nA\. .+\nB\. .+\nC\. .+\nD\. .+\nAnswer: [ABCD])"));
    problems += std::regex_search(text, std::regex(R"(^Question: .+\nAnswer: (?:.+\n)+#### \d+)"));
  }
  for (const int count : {continuations, choices, problems}) EXPECT_GT(count, static_cast<int>(kDocuments / 40));
}

}  // namespace
}  // namespace crope::data
