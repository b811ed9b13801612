#include "crope/world/problem.h"

#include <fmt/format.h>

#include <array>

#include "crope/world/words.h"

namespace crope::world {
namespace {

// What a problem is about.
struct Cast {
  Person who, other;
  Thing thing, box;
};

struct Worked {
  std::string story, question, steps;
  int result;
};

Worked gets_more(const Cast& c, RandomStream& random) {
  const int a = between(2, 30, random), b = between(2, 20, random);
  return {.story = fmt::format("{} has {}. {} gives {} {} more.", c.who.name, counted(a, c.thing), c.other.name,
                               c.who.him, b),
          .question = fmt::format("How many {} does {} have now?", c.thing.plural, c.who.name),
          .steps = fmt::format("{} has {} + {} = {} now.", c.who.name, a, b, counted(a + b, c.thing)),
          .result = a + b};
}

Worked gives_away(const Cast& c, RandomStream& random) {
  const int b = between(2, 20, random), a = b + between(1, 20, random);
  return {.story = fmt::format("{} has {}. {} gives {} of them to {}.", c.who.name, counted(a, c.thing),
                               sentence(std::string(c.who.he)), b, c.other.name),
          .question = fmt::format("How many {} does {} have left?", c.thing.plural, c.who.name),
          .steps = fmt::format("{} has {} - {} = {} left.", c.who.name, a, b, counted(a - b, c.thing)),
          .result = a - b};
}

Worked in_boxes(const Cast& c, RandomStream& random) {
  const int a = between(2, 9, random), b = between(2, 9, random);
  return {.story = fmt::format("There are {}. In each {} there are {}.", counted(a, c.box), c.box.singular,
                               counted(b, c.thing)),
          .question = fmt::format("How many {} are there?", c.thing.plural),
          .steps = fmt::format("There are {} * {} = {}.", a, b, counted(a * b, c.thing)),
          .result = a * b};
}

Worked finds_and_loses(const Cast& c, RandomStream& random) {
  const int a = between(2, 20, random), b = between(2, 15, random), lost = between(2, a + b - 1, random);
  const int left = a + b - lost;
  const std::string he(c.who.he);
  return {.story = fmt::format("{} has {}. {} finds {} more. Then {} loses {} of them.", c.who.name,
                               counted(a, c.thing), sentence(he), b, he, lost),
          .question = fmt::format("How many {} does {} have now?", c.thing.plural, c.who.name),
          .steps = fmt::format("First {} has {} + {} = {}.\nThen {} has {} - {} = {}.", c.who.name, a, b,
                               counted(a + b, c.thing), he, a + b, lost, counted(left, c.thing)),
          .result = left};
}

using Draw = Worked (*)(const Cast&, RandomStream&);
constexpr std::array<std::pair<std::string_view, Draw>, 4> kProblems = {
    {{"get", gets_more}, {"give", gives_away}, {"boxes", in_boxes}, {"lose", finds_and_loses}}};

}  // namespace

Problem draw_problem(RandomStream& random) {
  const auto& [name, draw] = pick(kProblems, random);
  const std::vector<Person> two = sample(people(), 2, random);
  const Cast cast{two[0], two[1], pick(things(), random), pick(containers(), random)};
  const Worked worked = draw(cast, random);
  Problem problem{.question = worked.story + " " + worked.question,
                  .answer = fmt::format("{}\n#### {}", worked.steps, worked.result),
                  .fingerprint = {}};
  problem.fingerprint.add({name, worked.story});
  return problem;
}

}  // namespace crope::world
