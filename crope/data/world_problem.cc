#include "crope/data/world_problem.h"

#include <fmt/format.h>

#include <optional>
#include <utility>

#include "crope/data/world_grammar.h"
#include "crope/data/world_problem_kinds.h"

namespace crope::data {
namespace {

constexpr Phrase kCent = {"cent", "cents"}, kPage = {"page", "pages"}, kYear = {"year", "years"},
                 kDay = {"day", "days"}, kCreature = {"animal", "animals"};

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

bool is_given(const Numbers& numbers, int n) {
  return n == numbers.a || n == numbers.b || n == numbers.c;
}

// Whether four numbers to choose from can be found, however many of them are smaller than the answer.
bool has_room(const Numbers& numbers) {
  constexpr int kLeast = static_cast<int>(kChoices) + 3;  // three smaller ones, and the three that are given
  const int answer = numbers.steps.back().result;
  return answer >= kLeast && !is_given(numbers, answer);
}

// The answer and the nearest numbers that are not given, in order: as many smaller ones as `answer_place` says.
std::array<int, kChoices> choices_around(const Numbers& numbers, std::size_t answer_place) {
  std::array<int, kChoices> choices;
  choices[answer_place] = numbers.steps.back().result;
  const auto next = [&](int n, int step) {
    do n += step;
    while (is_given(numbers, n));
    return n;
  };
  for (std::size_t i = answer_place; i > 0; --i) choices[i - 1] = next(choices[i], -1);
  for (std::size_t i = answer_place + 1; i < kChoices; ++i) choices[i] = next(choices[i - 1], 1);
  return choices;
}

// A kind with its numbers and words.
class Drawing {
 public:
  Drawing(const ProblemKind& kind, Numbers numbers, RandomStream& random);

  Problem problem();
  Question question(std::size_t answer_place);

 private:
  std::string fill(std::string_view pattern, Start start);

  const ProblemKind& kind_;
  Numbers numbers_;
  std::vector<Slot> slots_;
  Slot *x_, *y_, *result_;
};

Drawing::Drawing(const ProblemKind& kind, Numbers numbers, RandomStream& random)
    : kind_(kind), numbers_(std::move(numbers)) {
  Deck people(Pool::person, random), animals(Pool::animal, random);
  slots_ = {{"who", people.take()},
            {"other", people.take()},
            {"thing", &pick(words_of(Pool::thing), random)},
            {"box", &pick(words_of(Pool::container), random)},
            {"animal", animals.take()},
            {"beast", animals.take()},
            {"cent", &kCent},
            {"page", &kPage},
            {"year", &kYear},
            {"day", &kDay},
            {"creature", &kCreature},
            {"a", nullptr, numbers_.a},
            {"b", nullptr, numbers_.b},
            {"c", nullptr, numbers_.c},
            {"x"},
            {"y"},
            {"r", nullptr, numbers_.steps.back().result}};
  x_ = &slots_[slots_.size() - 3];
  y_ = &slots_[slots_.size() - 2];
  result_ = &slots_[slots_.size() - 1];
}

std::string Drawing::fill(std::string_view pattern, Start start) {
  std::string text;
  expand(pattern, slots_, start, text);
  return text;
}

Problem Drawing::problem() {
  Problem problem{.kind = kind_.name,
                  .text = fill(kind_.text, Start::sentence),
                  .question = fill(kind_.question, Start::sentence),
                  .steps = {},
                  .answer = numbers_.steps.back().result,
                  .fingerprint = Fingerprint(kind_.name)};
  problem.fingerprint.add({problem.text, problem.question});  // a kind is told in one way: the words are the facts
  for (std::size_t i = 0; i < kind_.steps.size(); ++i) {
    x_->number = numbers_.steps[i].x;
    y_->number = numbers_.steps[i].y;
    result_->number = numbers_.steps[i].result;
    problem.steps.push_back(fill(kind_.steps[i].text, Start::sentence));
  }
  return problem;
}

Question Drawing::question(std::size_t answer_place) {
  Question question{.text = fill(kind_.question, Start::sentence),
                    .stem = fill(kind_.stem, Start::fragment),
                    .plain_stem = fill(kind_.stem, Start::fragment),
                    .choices = {},
                    .answer = answer_place};
  const std::array<int, kChoices> numbers = choices_around(numbers_, answer_place);
  for (std::size_t i = 0; i < kChoices; ++i) {
    result_->number = numbers[i];
    question.choices[i] = fill(kind_.answer, Start::fragment);
  }
  return question;
}

Drawing draw(RandomStream& random, bool (*accept)(const Numbers&)) {
  const ProblemKind& kind = pick(problem_kinds(), random);
  for (;;) {
    std::optional<Numbers> numbers = draw_numbers(kind, random);
    if (numbers && accept(*numbers)) return Drawing(kind, std::move(*numbers), random);
  }
}

}  // namespace

Problem draw_problem(Side side, RandomStream& random) {
  for (;;) {
    Problem problem = draw(random, [](const Numbers&) { return true; }).problem();
    if (problem.fingerprint.side() == side) return problem;
  }
}

std::string worked_answer(const Problem& problem) {
  std::string answer;
  for (const std::string& step : problem.steps) answer += step + "\n";
  return answer + fmt::format("#### {}", problem.answer);
}

Story draw_counting(RandomStream& random) {
  Drawing drawing = draw(random, has_room);
  Problem problem = drawing.problem();
  Story story{.kind = "counting",
              .activity = "Counting things",
              .subject = "elementary_mathematics",
              .text = std::move(problem.text),
              .questions = {},
              .is_paired = false,
              .fingerprint = problem.fingerprint};
  story.questions.push_back(drawing.question(random.below(kChoices)));
  return story;
}

}  // namespace crope::data
