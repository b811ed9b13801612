// What a benchmark must not give away: scorers that look at lengths, at words, or at which words go together in the
// documents, and not at what is asked, stay at chance.
#include "crope/world/benchmark.h"

#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <set>
#include <string>
#include <unordered_map>

#include "crope/world/document.h"

namespace crope::world {
namespace {

constexpr std::int64_t kItems = 2000;
constexpr std::uint64_t kSeed = 1;
constexpr std::uint64_t kBenchmarkDocuments = 2000;

struct Scored {
  std::string context;
  std::vector<std::string> choices;
  std::size_t answer;
};

const Benchmarks& benchmarks() {
  static const Benchmarks made =
      make_benchmarks(kSeed, {.hellaswag_items = kItems, .mmlu_items = kItems, .gsm8k_items = 500});
  return made;
}

std::vector<Scored> hellaswag_items() {
  std::vector<Scored> items;
  for (const Json& line : benchmarks().hellaswag) {
    items.push_back({line["ctx"], line["endings"], line["label"].get<std::size_t>()});
  }
  return items;
}

std::vector<Scored> mmlu_items() {
  std::vector<Scored> items;
  for (const Json& line : benchmarks().mmlu_test) {
    items.push_back({line["question"], line["choices"], line["answer"].get<std::size_t>()});
  }
  return items;
}

std::vector<std::string> words_in(std::string_view text) {
  std::vector<std::string> words(1);
  for (const char c : text) {
    if (std::isalnum(static_cast<unsigned char>(c))) {
      words.back() += static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
    } else if (!words.back().empty()) {
      words.emplace_back();
    }
  }
  if (words.back().empty()) words.pop_back();
  return words;
}

// How many documents have a word, and how many have two words together.
class Corpus {
 public:
  Corpus() {
    for (std::uint64_t i = 0; i < kBenchmarkDocuments; ++i) {
      const std::vector<std::string> words = words_in(make_document(kSeed, i));
      std::set<std::size_t> present;
      for (const std::string& word : words) present.insert(index_.emplace(word, index_.size()).first->second);
      for (const std::size_t a : present) {
        for (const std::size_t b : present) ++together_[a * kMost + b];
      }
    }
  }

  double idf(const std::string& word) const { return std::log((kBenchmarkDocuments + 1) / (together(word, word) + 1)); }

  // Pointwise mutual information, smoothed.
  double association(const std::string& a, const std::string& b) const {
    return std::log((together(a, b) + 0.5) * kBenchmarkDocuments / ((together(a, a) + 0.5) * (together(b, b) + 0.5)));
  }

  static const Corpus& get() {
    static const Corpus corpus;
    return corpus;
  }

 private:
  static constexpr std::size_t kMost = 2048;

  double together(const std::string& a, const std::string& b) const {
    const auto first = index_.find(a), second = index_.find(b);
    return first == index_.end() || second == index_.end() ? 0 : together_[first->second * kMost + second->second];
  }

  std::unordered_map<std::string, std::size_t> index_;
  std::vector<int> together_ = std::vector<int>(kMost * kMost);
};

using Scorer = std::function<double(const Scored&, const std::string& choice)>;

double overlap(const Scored& item, const std::string& choice, const std::function<double(const std::string&)>& weight) {
  std::unordered_map<std::string, int> counts;
  for (const std::string& word : words_in(item.context)) ++counts[word];
  double sum = 0;
  for (const std::string& word : words_in(choice)) sum += counts[word] * weight(word);
  return sum;
}

double one(const std::string&) {
  return 1;
}
double idf(const std::string& word) {
  return Corpus::get().idf(word);
}

double mean_overlap(const Scored& item, const std::string& choice) {
  return overlap(item, choice, idf) / static_cast<double>(words_in(choice).size());
}

double association(const Scored& item, const std::string& choice) {
  double sum = 0;
  for (const std::string& word : words_in(choice)) {
    for (const std::string& other : words_in(item.context)) sum += Corpus::get().association(word, other);
  }
  return sum / static_cast<double>(words_in(choice).size());
}

double frequency(const Scored&, const std::string& choice) {
  double sum = 0;
  for (const std::string& word : words_in(choice)) sum -= idf(word);
  return sum / static_cast<double>(words_in(choice).size());
}

double last_place(const Scored& item, const std::string& choice) {
  const std::size_t place = item.context.rfind(words_in(choice).back());
  return place == std::string::npos ? -1 : static_cast<double>(place);
}

Scorer opposite(const Scorer& scorer) {
  return [scorer](const Scored& item, const std::string& choice) { return -scorer(item, choice); };
}

const std::pair<const char*, Scorer> kScorers[] = {
    {"longest", [](const Scored&, const std::string& choice) { return static_cast<double>(choice.size()); }},
    {"most_words",
     [](const Scored&, const std::string& choice) { return static_cast<double>(words_in(choice).size()); }},
    {"overlap", [](const Scored& item, const std::string& choice) { return overlap(item, choice, one); }},
    {"overlap_idf", [](const Scored& item, const std::string& choice) { return overlap(item, choice, idf); }},
    {"mean_overlap_idf", mean_overlap},
    {"association", association},
    {"frequent_words", frequency},
    {"last_mentioned", last_place},
};

// Ties share the point.
double accuracy(const std::vector<Scored>& items, const Scorer& scorer) {
  double right = 0;
  for (const Scored& item : items) {
    std::vector<double> scores;
    for (const std::string& choice : item.choices) scores.push_back(scorer(item, choice));
    const double best = *std::max_element(scores.begin(), scores.end());
    const auto ties = std::count_if(scores.begin(), scores.end(), [&](double score) { return score >= best - 1e-9; });
    if (scores[item.answer] >= best - 1e-9) right += 1.0 / static_cast<double>(ties);
  }
  return right / static_cast<double>(items.size());
}

void expect_chance(const char* task, const std::vector<Scored>& items) {
  ASSERT_EQ(items.size(), static_cast<std::size_t>(kItems));
  const double error = std::sqrt(0.25 * 0.75 / static_cast<double>(items.size()));
  for (const auto& [name, scorer] : kScorers) {
    for (const bool is_turned : {false, true}) {
      const double share = accuracy(items, is_turned ? opposite(scorer) : scorer);
      ::testing::Test::RecordProperty(std::string(task) + "_" + (is_turned ? "least_" : "") + name,
                                      std::to_string(share));
      EXPECT_NEAR(share, 0.25, 3 * error) << task << ": " << (is_turned ? "the opposite of " : "") << name;
    }
  }
}

TEST(WorldBenchmark, ScorersOfSurfacesStayAtChanceOnHellaswag) {
  expect_chance("hellaswag", hellaswag_items());
}

TEST(WorldBenchmark, ScorersOfSurfacesStayAtChanceOnMmlu) {
  expect_chance("mmlu", mmlu_items());
}

TEST(WorldBenchmark, AnswersStandInEachPlaceEquallyOften) {
  for (const std::vector<Scored>& items : {hellaswag_items(), mmlu_items()}) {
    std::array<std::int64_t, kChoices> counts{};
    for (const Scored& item : items) ++counts[item.answer];
    for (const std::int64_t count : counts) EXPECT_EQ(count, kItems / static_cast<std::int64_t>(kChoices));
  }
}

TEST(WorldBenchmark, LinesHaveTheFieldsOfTheOfficialFiles) {
  for (const Json& line : benchmarks().hellaswag) {
    EXPECT_EQ(line.size(), 10u);
    for (const char* field : {"activity_label", "ctx_a", "ctx_b", "ctx", "split", "source_id", "split_type"}) {
      EXPECT_TRUE(line.at(field).is_string()) << field;
    }
    EXPECT_EQ(line["endings"].size(), kChoices);
    const std::string ctx_a = line["ctx_a"], ctx_b = line["ctx_b"];
    EXPECT_EQ(line["ctx"], ctx_b.empty() ? ctx_a : ctx_a + " " + ctx_b);
    for (const char c : ctx_b) EXPECT_FALSE(std::isupper(static_cast<unsigned char>(c))) << "would be lost: " << ctx_b;
    EXPECT_EQ(line.dump().find_first_of("[]", line.dump().find("endings") + 11), line.dump().find("],\"source_id"));
  }
  std::set<std::string> subjects;
  for (const Json& line : benchmarks().mmlu_dev) subjects.insert(line["subject"]);
  EXPECT_EQ(subjects.size(), crope::world::subjects().size());
  EXPECT_EQ(benchmarks().mmlu_dev.size(), subjects.size() * kDevItemsPerSubject);
  for (const Json& line : benchmarks().mmlu_test) {
    EXPECT_EQ(line.size(), 4u);
    EXPECT_EQ(line["choices"].size(), kChoices);
  }
  for (const Json& line : benchmarks().gsm8k_test) {
    const std::string answer = line["answer"];
    const std::string number = answer.substr(answer.find("#### ") + 5);
    EXPECT_EQ(std::to_string(std::stoi(number)), number);
  }
}

TEST(WorldBenchmark, NothingOfItStandsInTheDocuments) {
  std::string all;
  for (std::uint64_t i = 0; i < kBenchmarkDocuments; ++i) all += make_document(kSeed, i) + "\n";
  const auto is_seen = [&](const std::string& text) { return all.find(text) != std::string::npos; };
  for (std::size_t i = 0; i < 500; ++i) {
    const Json& item = benchmarks().hellaswag[i];
    EXPECT_FALSE(is_seen(item["ctx_a"])) << item["ctx_a"];
    EXPECT_FALSE(is_seen(benchmarks().mmlu_test[i * 4]["question"])) << benchmarks().mmlu_test[i * 4]["question"];
    EXPECT_FALSE(is_seen(benchmarks().gsm8k_test[i]["question"])) << benchmarks().gsm8k_test[i]["question"];
  }
}

TEST(WorldBenchmark, NoTwoItemsAreTheSame) {
  std::set<std::string> seen;
  for (const Json& line : benchmarks().hellaswag) EXPECT_TRUE(seen.insert(line["ctx"]).second) << line["ctx"];
  for (const auto* lines :
       {&benchmarks().mmlu_dev, &benchmarks().mmlu_test, &benchmarks().gsm8k_train, &benchmarks().gsm8k_test}) {
    for (const Json& line : *lines) EXPECT_TRUE(seen.insert(line["question"]).second) << line["question"];
  }
}

}  // namespace
}  // namespace crope::world
