#include "crope/data/world_story.h"

#include <algorithm>
#include <functional>
#include <numeric>
#include <set>

#include "crope/data/world_bindings.h"
#include "crope/data/world_labels.h"
#include "crope/data/world_naming.h"
#include "crope/data/world_order.h"
#include "crope/data/world_problem.h"
#include "crope/data/world_sorting.h"

namespace crope::data {
namespace {

enum class Family { labels, labelled_things, naming, sorting, others };

struct Maker {
  std::string_view subject;
  std::function<Story(RandomStream&)> draw;
  Family family = Family::others;
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
  for (const SortingKind& kind : sorting_kinds()) {
    makers.push_back({kind.subject, [&](RandomStream& random) { return draw_sorting(kind, random); }, Family::sorting});
    makers.push_back({kind.subject, [&](RandomStream& random) { return draw_naming(kind, random); }, Family::naming});
  }
  for (const LabelKind& kind : label_kinds()) {
    makers.push_back(
        {kind.subject, [&](RandomStream& random) { return draw_labels(kind, random).labels; }, Family::labels});
    makers.push_back({kind.subject, [&](RandomStream& random) { return draw_labels(kind, random).things; },
                      Family::labelled_things});
  }
  return makers;
}

const std::vector<Maker>& makers() {
  static const std::vector<Maker> all = all_makers();
  return all;
}

const Maker& pick_maker(Family family, std::string_view subject, RandomStream& random) {
  for (;;) {
    const Maker& maker = pick(makers(), random);
    if (maker.family == family && (subject.empty() || maker.subject == subject)) return maker;
  }
}

Story draw_of(Family family, const StoryRequest& request, RandomStream& random) {
  const Maker& maker = pick_maker(family, request.subject, random);
  for (;;) {
    Story story = maker.draw(random);
    if (story.fingerprint.side() == request.side) return story;
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

Story draw_story(const StoryRequest& request, RandomStream& random) {
  // What is learned first has the larger share.
  constexpr Family kShares[] = {Family::naming,  Family::naming, Family::naming,          Family::sorting,
                                Family::sorting, Family::labels, Family::labelled_things, Family::others};
  return draw_of(pick(kShares, random), request, random);
}

Story draw_sorting_story(const StoryRequest& request, RandomStream& random) {
  return draw_of(Family::sorting, request, random);
}

Story draw_naming_story(const StoryRequest& request, RandomStream& random) {
  return draw_of(Family::naming, request, random);
}

Question draw_question(const Story& story, std::size_t place, RandomStream& random) {
  if (story.is_ordered) return story.questions[place];
  Question question = pick(story.questions, random);
  place_answer(question, place, random);
  return question;
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
