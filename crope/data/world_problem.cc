#include "crope/data/world_problem.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>

#include "crope/data/world_grammar.h"

namespace crope::data {
namespace {

struct Range {
  int low, high;
};

// One calculation. The operands are 'a', 'b', 'c' (given), 'r' (the result of the step before) or a digit.
struct Step {
  char left, operation, right;
  std::string_view text;  // {x} and {y} are the operands, {r} the result
};

struct ProblemKind {
  std::string_view name;
  std::string_view text;  // {a} {b} {c} are given; {who} {other} {thing} {box} {animal} {beast} are drawn
  std::string_view question;
  std::string_view stem;    // begins the sentence that `answer` ends
  std::string_view answer;  // of {r}
  Range a, b, c;
  std::vector<Step> steps;
};

constexpr Phrase kCent = {"cent", "cents"}, kPage = {"page", "pages"}, kYear = {"year", "years"},
                 kDay = {"day", "days"};

const std::vector<ProblemKind> kKinds = {
    {"get",
     "{who} has {a thing}. {other} gives {who:him} {b} more.",
     "How many {thing:s} does {who} have now?",
     "now {who} has",
     "{r thing}",
     {2, 15},
     {2, 12},
     {0, 0},
     {{'a', '+', 'b', "{who} has {x} + {y} = {r thing} now."}}},
    {"give",
     "{who} has {a thing}. {who:he} gives {b} of them to {other}.",
     "How many {thing:s} does {who} have left?",
     "now {who} has",
     "{r thing}",
     {4, 20},
     {2, 15},
     {0, 0},
     {{'a', '-', 'b', "{who} has {x} - {y} = {r thing} left."}}},
    {"boxes",
     "There are {a box}. In each {box} there are {b thing}.",
     "How many {thing:s} are there?",
     "there are",
     "{r thing}",
     {2, 9},
     {2, 6},
     {0, 0},
     {{'a', '*', 'b', "There are {x} * {y} = {r thing}."}}},
    {"find_and_lose",
     "{who} has {a thing}. {who:he} finds {b} more. Then {who:he} loses {c} of them.",
     "How many {thing:s} does {who} have now?",
     "now {who} has",
     "{r thing}",
     {2, 12},
     {2, 10},
     {2, 9},
     {{'a', '+', 'b', "First {who} has {x} + {y} = {r thing}."},
      {'r', '-', 'c', "Then {who:he} has {x} - {y} = {r thing}."}}},
    {"more_than",
     "{who} has {a thing}. {other} has {b} more than {who}.",
     "How many {thing:s} do they have together?",
     "together they have",
     "{r thing}",
     {2, 10},
     {2, 8},
     {0, 0},
     {{'a', '+', 'b', "{other} has {x} + {y} = {r thing}."},
      {'a', '+', 'r', "Together they have {x} + {y} = {r thing}."}}},
    {"twice",
     "{who} has {a thing}. {other} has twice as many.",
     "How many {thing:s} do they have together?",
     "together they have",
     "{r thing}",
     {2, 12},
     {0, 0},
     {0, 0},
     {{'a', '*', '2', "{other} has {x} * {y} = {r thing}."},
      {'a', '+', 'r', "Together they have {x} + {y} = {r thing}."}}},
    {"price",
     "One {thing} costs {a cent}. {who} buys {b thing}.",
     "How many cents does {who} pay?",
     "{who} pays",
     "{r cent}",
     {2, 9},
     {2, 6},
     {0, 0},
     {{'a', '*', 'b', "{who} pays {x} * {y} = {r cent}."}}},
    {"change",
     "{who} has {a cent}. {who:he} buys {b thing} for {c cent} each.",
     "How many cents does {who} have left?",
     "now {who} has",
     "{r cent}",
     {10, 40},
     {2, 6},
     {2, 6},
     {{'b', '*', 'c', "{who} pays {x} * {y} = {r cent}."}, {'a', '-', 'r', "{who:he} has {x} - {y} = {r cent} left."}}},
    {"share",
     "{who} has {a thing}. {who:he} puts the same number of them into each of {b box}.",
     "How many {thing:s} are in each {box}?",
     "each {box} holds",
     "{r thing}",
     {4, 36},
     {2, 6},
     {0, 0},
     {{'a', '/', 'b', "There are {x} / {y} = {r thing} in each {box}."}}},
    {"farm",
     "There are {a animal} and {b beast} on the farm. Then {c} of the animals run away.",
     "How many animals are left on the farm?",
     "the number of animals left is",
     "{r}",
     {2, 10},
     {2, 10},
     {2, 9},
     {{'a', '+', 'b', "First there are {x} + {y} = {r} animals."},
      {'r', '-', 'c', "Then there are {x} - {y} = {r} animals left."}}},
    {"pages",
     "{who} reads {a page} a day. {who:he} reads for {b day}.",
     "How many pages does {who} read?",
     "{who} reads",
     "{r page}",
     {2, 9},
     {2, 7},
     {0, 0},
     {{'a', '*', 'b', "{who} reads {x} * {y} = {r page}."}}},
    {"ages",
     "{who} is {a year} old. {other} is {b year} older.",
     "How old will {other} be in {c year}?",
     "the age of {other} will then be",
     "{r}",
     {2, 10},
     {2, 8},
     {2, 8},
     {{'a', '+', 'b', "{other} is {x} + {y} = {r year} old."},
      {'r', '+', 'c', "Then {other:he} will be {x} + {y} = {r year} old."}}},
    {"boxes_and_more",
     "{who} has {a box} with {b thing} in each. {other} gives {who:him} {c} more {thing:s}.",
     "How many {thing:s} does {who} have now?",
     "now {who} has",
     "{r thing}",
     {2, 6},
     {2, 6},
     {2, 9},
     {{'a', '*', 'b', "First {who} has {x} * {y} = {r thing}."},
      {'r', '+', 'c', "Now {who:he} has {x} + {y} = {r thing}."}}},
    {"difference",
     "{who} has {a thing}. {other} has {b thing}.",
     "How many more {thing:s} does {who} have than {other}?",
     "the number more is",
     "{r}",
     {5, 20},
     {2, 15},
     {0, 0},
     {{'a', '-', 'b', "{who} has {x} - {y} = {r} more than {other}."}}},
    {"three_days",
     "On Monday {who} finds {a thing}. On Tuesday {who:he} finds {b}, and on Wednesday {c}.",
     "How many {thing:s} does {who} find in all?",
     "in all {who} finds",
     "{r thing}",
     {2, 9},
     {2, 9},
     {2, 9},
     {{'a', '+', 'b', "In two days {who} finds {x} + {y} = {r thing}."},
      {'r', '+', 'c', "In all {who:he} finds {x} + {y} = {r thing}."}}},
};

// Nothing where the result is not a positive whole number.
std::optional<int> calculate(int x, char operation, int y) {
  if (operation == '/') return x % y == 0 ? std::optional(x / y) : std::nullopt;
  const int result = operation == '+' ? x + y : operation == '-' ? x - y : x * y;
  return result > 0 ? std::optional(result) : std::nullopt;
}

// The numbers of a problem: those given, and the operands and result of each step.
struct Numbers {
  struct Calculation {
    int x, y, result;
  };
  int a, b, c;
  std::vector<Calculation> steps;
};

std::optional<Numbers> draw_numbers(const ProblemKind& kind, RandomStream& random) {
  const auto draw = [&](Range range) { return between(range.low, range.high, random); };
  Numbers numbers{.a = draw(kind.a), .b = draw(kind.b), .c = draw(kind.c), .steps = {}};
  int last = 0;
  const auto operand = [&](char name) {
    return name == 'a'   ? numbers.a
           : name == 'b' ? numbers.b
           : name == 'c' ? numbers.c
           : name == 'r' ? last
                         : name - '0';
  };
  for (const Step& step : kind.steps) {
    const int x = operand(step.left), y = operand(step.right);
    const std::optional<int> result = calculate(x, step.operation, y);
    if (!result) return std::nullopt;
    numbers.steps.push_back({x, y, *result});
    last = *result;
  }
  return numbers;
}

struct Drawn {
  Problem problem;
  std::string stem;
  std::array<std::string, kChoices> choices;
  std::size_t choice = 0;
};

Drawn draw_any(RandomStream& random, bool with_choices) {
  const ProblemKind& kind = pick(kKinds, random);
  std::optional<Numbers> numbers = draw_numbers(kind, random);
  const auto is_taken = [&](int n) { return n == numbers->a || n == numbers->b || n == numbers->c; };
  // With choices there must be room for three smaller numbers that the text does not have.
  constexpr int kRoom = static_cast<int>(kChoices) + 3;
  while (!numbers ||
         (with_choices && (numbers->steps.back().result < kRoom || is_taken(numbers->steps.back().result)))) {
    numbers = draw_numbers(kind, random);
  }
  Deck people(Pool::person, random), animals(Pool::animal, random);
  std::array slots = {Slot{"who", people.take()},
                      Slot{"other", people.take()},
                      Slot{"thing", &pick(words_of(Pool::thing), random)},
                      Slot{"box", &pick(words_of(Pool::container), random)},
                      Slot{"animal", animals.take()},
                      Slot{"beast", animals.take()},
                      Slot{"cent", &kCent},
                      Slot{"page", &kPage},
                      Slot{"year", &kYear},
                      Slot{"day", &kDay},
                      Slot{"a", nullptr, numbers->a},
                      Slot{"b", nullptr, numbers->b},
                      Slot{"c", nullptr, numbers->c},
                      Slot{"x"},
                      Slot{"y"},
                      Slot{"r"}};
  const auto x = slots.end() - 3, y = slots.end() - 2, r = slots.end() - 1;

  std::string text, question;
  expand(kind.text, slots, Start::sentence, text);
  expand(kind.question, slots, Start::sentence, question);
  Fingerprint print(kind.name);
  print.add({text, question});  // a kind is told in one way only: the words are the facts
  Drawn drawn{.problem = {.kind = kind.name,
                          .text = std::move(text),
                          .question = std::move(question),
                          .steps = {},
                          .answer = 0,
                          .fingerprint = print},
              .stem = {},
              .choices = {}};
  Problem& problem = drawn.problem;
  for (std::size_t i = 0; i < kind.steps.size(); ++i) {
    const Numbers::Calculation& step = numbers->steps[i];
    x->number = step.x;
    y->number = step.y;
    r->number = step.result;
    expand(kind.steps[i].text, slots, Start::sentence, problem.steps.emplace_back());
  }
  problem.answer = r->number;
  if (!with_choices) return drawn;

  expand(kind.stem, slots, Start::fragment, drawn.stem);
  drawn.choice = random.below(kChoices);  // so many of the others are smaller
  for (std::size_t i = drawn.choice, n = static_cast<std::size_t>(problem.answer);; --i) {
    while (is_taken(static_cast<int>(n))) --n;
    r->number = static_cast<int>(n--);
    expand(kind.answer, slots, Start::fragment, drawn.choices[i]);
    if (i == 0) break;
  }
  int next = problem.answer + 1;
  for (std::size_t i = drawn.choice + 1; i < kChoices; ++i) {
    while (is_taken(next)) ++next;
    r->number = next++;
    expand(kind.answer, slots, Start::fragment, drawn.choices[i]);
  }
  return drawn;
}

}  // namespace

Problem draw_problem(Side side, RandomStream& random) {
  for (;;) {
    Drawn drawn = draw_any(random, /*with_choices=*/false);
    if (drawn.problem.fingerprint.side() == side) return std::move(drawn.problem);
  }
}

std::string worked_answer(const Problem& problem) {
  std::string answer;
  for (const std::string& step : problem.steps) answer += step + "\n";
  return answer + fmt::format("#### {}", problem.answer);
}

Story draw_counting(RandomStream& random) {
  Drawn drawn = draw_any(random, /*with_choices=*/true);
  Story story{.kind = "counting",
              .activity = "Counting things",
              .subject = "elementary_mathematics",
              .text = std::move(drawn.problem.text),
              .questions = {},
              .is_paired = false,
              .fingerprint = drawn.problem.fingerprint};
  story.questions.push_back({.text = std::move(drawn.problem.question),
                             .stem = drawn.stem,
                             .plain_stem = drawn.stem,
                             .choices = std::move(drawn.choices),
                             .answer = drawn.choice});
  return story;
}

}  // namespace crope::data
