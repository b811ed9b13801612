#include "crope/world/document.h"

#include <fmt/format.h>

#include <algorithm>

namespace crope::world {
namespace {

constexpr std::size_t kLessonWords = 8;
constexpr std::size_t kLeastBytes = 450, kMostBytes = 900;  // of a document of several parts

char letter(std::size_t place) {
  return static_cast<char>('A' + place);
}

std::string lettered(std::string_view heading, const std::array<std::string, kChoices>& choices) {
  std::string text(heading);
  for (std::size_t i = 0; i < kChoices; ++i) text += fmt::format("\n{}. {}", letter(i), choices[i]);
  return text;
}

using DrawItem = Item (*)(const Subject&, std::size_t, Side, RandomStream&);

Item training_item(DrawItem draw, const Subject& subject, RandomStream& random) {
  return draw_on(Side::training, [&] { return draw(subject, random.below(kChoices), Side::training, random); });
}

// As HellaSwag writes it; without the activity and in fewer words half of the time.
std::string continuation(DrawItem draw, const Subject& subject, RandomStream& random) {
  const Item item = training_item(draw, subject, random);
  const bool is_short = one_in(2, random);
  return fmt::format("{}{} {} {}.", is_short ? "" : fmt::format("{}: ", item.activity), item.context,
                     sentence(is_short ? item.short_stem : item.stem), item.choices[item.answer]);
}

std::string naming_continuation(const Subject& subject, RandomStream& random) {
  return continuation(draw_naming, subject, random);
}

std::string sorting_continuation(const Subject& subject, RandomStream& random) {
  return continuation(draw_sorting, subject, random);
}

// As MMLU prompts have it; half of the time only the short question.
std::string exam_question(const Subject& subject, RandomStream& random) {
  const Item item = training_item(draw_naming, subject, random);
  const std::string prompt =
      one_in(2, random) ? lettered(item.short_question, item.choices) + "\nAnswer:" : exam_prompt(item);
  return fmt::format("{} {}", prompt, letter(item.answer));
}

// The letters of many words.
std::string letter_lesson(const Subject& subject, RandomStream& random) {
  std::array<std::string, kChoices> names;
  for (std::size_t i = 0; i < kChoices; ++i) names[i] = subject.kinds[i]->name;
  std::string text = lettered("Here are four kinds.", names) + "\nWords:";
  for (std::size_t i = 0; i < kLessonWords; ++i) {
    const std::size_t kind = random.below(kChoices);
    text += fmt::format(" {} {}{}", pick_word(subject.kinds[kind]->words, Side::training, random), letter(kind),
                        i + 1 == kLessonWords ? "." : ",");
  }
  return text;
}

std::string worked_problem(const Subject&, RandomStream& random) {
  const Problem problem = draw_on(Side::training, [&] { return draw_problem(random); });
  return fmt::format("{} {}", problem_prompt(problem), problem.answer);
}

std::string facts(const Subject&, RandomStream& random) {
  std::string text;
  for (int i = 0; i < 6; ++i) {
    const Kind& kind = pick(kinds(), random);
    text += fmt::format("{}{} is {}.", i == 0 ? "" : " ",
                        sentence(std::string(pick_word(kind.words, Side::training, random))), with_article(kind.name));
  }
  return text;
}

// A day of two people.
std::string story(const Subject&, RandomStream& random) {
  const std::vector<Person> two = sample(people(), 2, random);
  const std::vector<std::string_view> where = sample(places(), 2, random);
  const std::vector<Thing> found = sample(things(), 2, random);
  const Person &one = two[0], &other = two[1];
  return fmt::format(
      "One morning {} was {}. {} found {} there. {} was {}. {} had {}. {} went to {}, and they played {}. In the "
      "evening {} gave the {} to {}, and {} was happy.",
      one.name, where[0], sentence(std::string(one.he)), with_article(found[0].singular), other.name, where[1],
      sentence(std::string(other.he)), with_article(found[1].singular), other.name, one.name, where[0], one.name,
      found[0].singular, other.name, other.he);
}

struct DocumentKind {
  std::string (*write)(const Subject&, RandomStream&);
  std::uint64_t weight;
  bool has_one_part;  // items about the same few words would answer each other's questions, and wrongly
  bool is_exam = false;
};
constexpr DocumentKind kDocumentKinds[] = {
    {naming_continuation, 20, true},
    {sorting_continuation, 30, true},
    {exam_question, 20, false, true},
    {letter_lesson, 8, true},
    {worked_problem, 20, false},
    {facts, 1, false},
    {story, 1, false},
};

const DocumentKind& pick_kind(RandomStream& random) {
  std::uint64_t total = 0;
  for (const DocumentKind& kind : kDocumentKinds) total += kind.weight;
  std::uint64_t place = random.below(total);
  for (const DocumentKind& kind : kDocumentKinds) {
    if (place < kind.weight) return kind;
    place -= kind.weight;
  }
  return kDocumentKinds[0];
}

}  // namespace

std::string exam_heading(std::string_view subject) {
  std::string words(subject);
  std::ranges::replace(words, '_', ' ');
  return fmt::format("The following are multiple choice questions (with answers) about {}.\n\n", words);
}

std::string exam_prompt(const Item& item) {
  return lettered(item.context + " " + item.question, item.choices) + "\nAnswer:";
}

std::string problem_prompt(const Problem& problem) {
  return fmt::format("Question: {}\nAnswer:", problem.question);
}

std::string make_document(std::uint64_t seed, std::uint64_t index) {
  RandomStream random(seed, fmt::format("synthetic_world.document.{}", index));
  const DocumentKind& kind = pick_kind(random);
  const Subject& subject = pick(subjects(), random);
  const std::size_t enough = kLeastBytes + random.below(kMostBytes - kLeastBytes);
  std::string text = kind.is_exam ? exam_heading(subject.name) : "";
  text += kind.write(subject, random);
  while (!kind.has_one_part && text.size() < enough) text += "\n\n" + kind.write(subject, random);
  return text;
}

}  // namespace crope::world
