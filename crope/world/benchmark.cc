#include "crope/world/benchmark.h"

#include <fmt/format.h>

#include <algorithm>
#include <unordered_set>

#include "crope/world/item.h"
#include "crope/world/problem.h"

namespace crope::world {
namespace {

// Draws items of the benchmarks' side that no item has had before.
class FreshDraw {
 public:
  template <typename Draw>
  auto operator()(const Draw& draw) {
    for (;;) {
      auto drawn = draw_on(Side::benchmark, draw);
      if (used_.insert(drawn.fingerprint.value()).second) return drawn;
    }
  }

 private:
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

Json hellaswag_item(std::int64_t index, const Item& item) {
  // Scorers write ctx_b with one capital, at its start: a name in it would lose its own.
  const bool has_capital = std::ranges::any_of(item.stem, [](char c) { return c >= 'A' && c <= 'Z'; });
  const std::string ctx_a = has_capital ? item.context + " " + sentence(item.stem) : item.context;
  const std::string ctx_b = has_capital ? "" : item.stem;
  Json endings = Json::array();
  for (const std::string& choice : item.choices) endings.push_back(choice + ".");
  return {{"ind", index},
          {"activity_label", item.activity},
          {"ctx_a", ctx_a},
          {"ctx_b", ctx_b},
          {"ctx", has_capital ? ctx_a : ctx_a + " " + ctx_b},
          {"split", "val"},
          {"split_type", "indomain"},
          {"label", item.answer},
          {"endings", std::move(endings)},
          {"source_id", fmt::format("world~{}", item.family)}};
}

}  // namespace

Benchmarks make_benchmarks(std::uint64_t seed, const BenchmarkSizes& sizes) {
  Benchmarks benchmarks;
  FreshDraw fresh;

  RandomStream hellaswag(seed, "synthetic_world.hellaswag");
  AnswerPlaces places;
  for (std::int64_t i = 0; i < sizes.hellaswag_items; ++i) {
    const std::size_t answer = places.next(hellaswag);
    const auto draw = one_in(2, hellaswag) ? draw_naming : draw_sorting;
    benchmarks.hellaswag.push_back(hellaswag_item(
        i, fresh([&] { return draw(pick(subjects(), hellaswag), answer, Side::benchmark, hellaswag); })));
  }

  // Naming only: the letter of a sorted word has to be looked up among the choices, which small models do not learn.
  RandomStream mmlu(seed, "synthetic_world.mmlu");
  AnswerPlaces dev_places, test_places;
  const auto add_mmlu = [&](const Subject& subject, std::vector<Json>& to, AnswerPlaces& to_places) {
    const std::size_t answer = to_places.next(mmlu);
    const Item item = fresh([&] { return draw_naming(subject, answer, Side::benchmark, mmlu); });
    to.push_back({{"subject", item.subject},
                  {"question", item.context + " " + item.question},
                  {"choices", item.choices},
                  {"answer", item.answer}});
  };
  for (std::size_t s = 0; s < subjects().size(); ++s) {
    for (std::int64_t i = 0; i < kDevItemsPerSubject; ++i) add_mmlu(subjects()[s], benchmarks.mmlu_dev, dev_places);
    // The shares of all subjects differ by one at most.
    const std::size_t end = static_cast<std::size_t>(sizes.mmlu_items) * (s + 1) / subjects().size();
    while (benchmarks.mmlu_test.size() < end) add_mmlu(subjects()[s], benchmarks.mmlu_test, test_places);
  }

  RandomStream gsm8k(seed, "synthetic_world.gsm8k");
  const auto add_gsm8k = [&](std::vector<Json>& to) {
    const Problem problem = fresh([&] { return draw_problem(gsm8k); });
    to.push_back({{"question", problem.question}, {"answer", problem.answer}});
  };
  for (std::int64_t i = 0; i < sizes.gsm8k_items; ++i) {
    add_gsm8k(benchmarks.gsm8k_train);
    add_gsm8k(benchmarks.gsm8k_test);
  }
  return benchmarks;
}

}  // namespace crope::world
