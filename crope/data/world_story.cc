#include "crope/data/world_story.h"

#include <algorithm>
#include <functional>
#include <numeric>
#include <set>

#include "crope/data/world_bindings.h"
#include "crope/data/world_order.h"
#include "crope/data/world_problem.h"

namespace crope::data {
namespace {

struct Maker {
  std::string_view subject;
  std::function<Story(RandomStream&)> draw;
};

std::vector<Maker> all_makers() {
  std::vector<Maker> makers;
  for (const StoryKind& kind : story_kinds()) {
    makers.push_back({kind.subject, [&kind](RandomStream& random) { return draw_bindings(kind, random); }});
  }
  makers.push_back({"formal_logic", draw_comparison});
  makers.push_back({"elementary_mathematics", draw_ages});
  makers.push_back({"elementary_mathematics", draw_neighbours});
  makers.push_back({"elementary_mathematics", draw_counting});
  return makers;
}

const std::vector<Maker>& makers() {
  static const std::vector<Maker> all = all_makers();
  return all;
}

const Maker& pick_maker(std::string_view subject, RandomStream& random) {
  for (;;) {
    const Maker& maker = pick(makers(), random);
    if (subject.empty() || maker.subject == subject) return maker;
  }
}

}  // namespace

std::span<const std::string_view> story_subjects() {
  static const std::vector<std::string_view> subjects = [] {
    std::set<std::string_view> sorted;
    for (const Maker& maker : makers()) sorted.insert(maker.subject);
    return std::vector(sorted.begin(), sorted.end());
  }();
  return subjects;
}

Story draw_story(std::string_view subject, Side side, RandomStream& random) {
  const Maker& maker = pick_maker(subject, random);
  for (;;) {
    Story story = maker.draw(random);
    if (story.fingerprint.side() == side) return story;
  }
}

Question draw_pair(const Story& story, RandomStream& random) {
  std::array<std::size_t, kChoices> order;
  std::iota(order.begin(), order.end(), 0);
  shuffle(order, random);
  const Question& first = story.questions[order[0]];
  const Question& second = story.questions[order[1]];
  Question pair{
      .text = first.text, .stem = first.plain_stem, .plain_stem = first.plain_stem, .choices = {}, .answer = 0};
  for (std::size_t i = 0; i < kChoices; ++i) {
    // (0, 1), (1, 0), (2, 3), (3, 2): the first is right.
    const std::string& one = first.choices[order[i]];
    const std::string& other = first.choices[order[i ^ 1]];
    pair.choices[i] = one + ", and " + second.plain_stem + " " + other;
  }
  return pair;
}

void place_answer(Question& question, std::size_t place, RandomStream& random) {
  std::swap(question.choices[question.answer], question.choices[kChoices - 1]);
  std::span<std::string> others(question.choices.data(), kChoices - 1);
  shuffle(others, random);
  std::swap(question.choices[place], question.choices[kChoices - 1]);
  question.answer = place;
}

}  // namespace crope::data
