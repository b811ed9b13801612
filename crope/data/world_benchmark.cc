#include "crope/data/world_benchmark.h"

#include <fmt/format.h>

#include <algorithm>
#include <type_traits>
#include <unordered_set>

#include "crope/data/world_document.h"

namespace crope::data {
namespace {

// Draws what no item has had before.
class FreshDraw {
 public:
  Story story(std::string_view subject, RandomStream& random) {
    return fresh([&] { return draw_story({.side = Side::benchmark, .subject = subject}, random); });
  }
  Problem problem(RandomStream& random) {
    return fresh([&] { return draw_problem(Side::benchmark, random); });
  }

 private:
  template <typename Draw>
  std::invoke_result_t<Draw> fresh(Draw draw) {
    for (;;) {
      std::invoke_result_t<Draw> drawn = draw();
      if (used_.insert(drawn.fingerprint.value()).second) return drawn;
    }
  }

  std::unordered_set<std::uint64_t> used_;
};

// Places for the answers: each of the four once in any four items from the start, in random order.
class AnswerPlaces {
 public:
  std::size_t next(RandomStream& random) {
    if (count_++ % kChoices == 0) shuffle(places_, random);
    return places_[(count_ - 1) % kChoices];
  }

 private:
  std::array<std::size_t, kChoices> places_ = {0, 1, 2, 3};
  std::size_t count_ = 0;
};

bool has_capital(std::string_view text) {
  return std::any_of(text.begin(), text.end(), [](char c) { return c >= 'A' && c <= 'Z'; });
}

Json hellaswag_item(std::int64_t index, const Story& story, const Question& question) {
  // Scorers write ctx_b with one capital, at its start: a name in it would lose its own.
  const bool is_split = !has_capital(question.stem);
  const std::string ctx_a = is_split ? story.text : story_context(story, question);
  const std::string ctx_b = is_split ? question.stem : "";
  Json endings = Json::array();
  for (const std::string& choice : question.choices) endings.push_back(choice + ".");
  return {{"ind", index},
          {"activity_label", story.activity},
          {"ctx_a", ctx_a},
          {"ctx_b", ctx_b},
          {"ctx", is_split ? ctx_a + " " + ctx_b : ctx_a},
          {"split", "val"},
          {"split_type", "indomain"},
          {"label", question.answer},
          {"endings", std::move(endings)},
          {"source_id", fmt::format("world~{}", story.kind)}};
}

Json mmlu_item(const Story& story, const Question& question) {
  return {{"subject", story.subject},
          {"question", story_question(story, question)},
          {"choices", question.choices},
          {"answer", question.answer}};
}

Json gsm8k_item(const Problem& problem) {
  return {{"question", problem.text + " " + problem.question}, {"answer", worked_answer(problem)}};
}

}  // namespace

Benchmarks make_benchmarks(std::uint64_t seed, const BenchmarkSizes& sizes) {
  Benchmarks benchmarks;
  FreshDraw draw;

  RandomStream hellaswag(seed, "synthetic_world.hellaswag");
  AnswerPlaces places;
  for (std::int64_t i = 0; i < sizes.hellaswag_items; ++i) {
    const std::size_t place = places.next(hellaswag);
    const Story story = draw.story("", hellaswag);
    const bool asks_two = story.is_paired && one_in(3, hellaswag);
    Question question = asks_two ? draw_pair(story, hellaswag) : draw_question(story, place, hellaswag);
    if (asks_two) place_answer(question, place, hellaswag);
    benchmarks.hellaswag.push_back(hellaswag_item(i, story, question));
  }

  RandomStream mmlu(seed, "synthetic_world.mmlu");
  AnswerPlaces dev_places, test_places;
  const auto add_mmlu = [&](std::string_view subject, std::vector<Json>& to, AnswerPlaces& to_places) {
    const std::size_t place = to_places.next(mmlu);
    const Story story = draw.story(subject, mmlu);
    to.push_back(mmlu_item(story, draw_question(story, place, mmlu)));
  };
  const auto subjects = static_cast<std::int64_t>(story_subjects().size());
  for (std::int64_t s = 0; s < subjects; ++s) {
    const std::string_view subject = story_subjects()[static_cast<std::size_t>(s)];
    for (std::int64_t i = 0; i < kDevItemsPerSubject; ++i) add_mmlu(subject, benchmarks.mmlu_dev, dev_places);
    // The shares of all subjects differ by one at most.
    const std::int64_t end = sizes.mmlu_items * (s + 1) / subjects;
    while (static_cast<std::int64_t>(benchmarks.mmlu_test.size()) < end)
      add_mmlu(subject, benchmarks.mmlu_test, test_places);
  }

  RandomStream gsm8k(seed, "synthetic_world.gsm8k");
  for (std::int64_t i = 0; i < sizes.gsm8k_items; ++i) {
    benchmarks.gsm8k_train.push_back(gsm8k_item(draw.problem(gsm8k)));
    benchmarks.gsm8k_test.push_back(gsm8k_item(draw.problem(gsm8k)));
  }
  return benchmarks;
}

}  // namespace crope::data
