#include "crope/data/world_document.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <numeric>
#include <vector>

#include "crope/data/world_grammar.h"
#include "crope/data/world_labels.h"
#include "crope/data/world_naming.h"
#include "crope/data/world_narrative.h"

namespace crope::data {
namespace {

// One part of a document. Parts are joined by blank lines.
using Part = void (*)(std::string_view subject, RandomStream& random, std::string& out);

// Words in a lesson about what words name.
constexpr std::size_t kNamedWords = 8;

std::string_view plain_text(const Question& question) {
  return question.plain_text.empty() ? question.text : question.plain_text;
}

// The choices in lines of their own, after a text.
std::string lettered(std::string_view text, const std::array<std::string, kChoices>& choices) {
  std::string lines(text);
  for (std::size_t i = 0; i < kChoices; ++i) {
    lines += fmt::format("\n{}. {}", static_cast<char>('A' + i), choices[i]);
  }
  return lines;
}

const Question& pick_question(const Story& story, RandomStream& random) {
  return pick(story.questions, random);
}

void append_closing(const Question& question, std::string_view stem, std::string& out) {
  out += ' ';
  append_capitalised(stem, out);
  out += ' ';
  out += question.choices[question.answer];
  out += '.';
}

// A story and what follows from it, said or asked.
void write_story(std::string_view, RandomStream& random, std::string& out) {
  Story story = draw_story({}, random);
  out += story.text;
  shuffle(story.questions, random);
  const std::size_t count = std::min<std::size_t>(story.questions.size(), 2 + random.below(3));
  const bool is_asked = one_in(2, random);
  for (std::size_t i = 0; i < count; ++i) {
    const Question& question = story.questions[i];
    if (is_asked) {
      out += ' ';
      out += plain_text(question);
    }
    append_closing(question, one_in(2, random) ? question.stem : question.plain_stem, out);
  }
}

// Things with labels, and what can be said of them, from the thing to the label and back.
void write_labels(std::string_view, RandomStream& random, std::string& out) {
  const LabelKind& kind = pick(label_kinds(), random);
  LabelStories stories = draw_labels(kind, random);
  while (stories.labels.fingerprint.side() != Side::training) stories = draw_labels(kind, random);
  out += stories.labels.text;
  std::vector<const Question*> questions;
  for (const Story* story : {&stories.labels, &stories.things}) {
    for (const Question& question : story->questions) questions.push_back(&question);
  }
  shuffle(questions, random);
  for (const Question* question : questions) append_closing(*question, question->stem, out);
}

void write_continuation(std::string_view, RandomStream& random, std::string& out) {
  const Story story = draw_story({}, random);
  out += story.activity;
  out += ": ";
  out += story.text;
  const Question question =
      story.is_paired && one_in(3, random) ? draw_pair(story, random) : pick_question(story, random);
  append_closing(question, question.stem, out);
}

void append_choice(const Story& story, RandomStream& random, std::string& out) {
  const Question question = draw_question(story, random.below(kChoices), random);
  // What can be asked without a story sometimes is.
  const bool is_short = !question.plain_text.empty() && one_in(2, random);
  out += is_short ? lettered(question.plain_text, question.choices) + "\nAnswer:" : choice_prompt(story, question);
  out += ' ';
  out += static_cast<char>('A' + question.answer);
}

void write_choice(std::string_view subject, RandomStream& random, std::string& out) {
  append_choice(draw_story({.subject = subject}, random), random, out);
}

// What a word names does not depend on a story: there may be many such questions in a document.
void write_naming_choice(std::string_view subject, RandomStream& random, std::string& out) {
  append_choice(draw_naming_story({.subject = subject}, random), random, out);
}

// A question, or a word that stands for one, and its letter.
struct Answer {
  std::string said;
  char letter;
};

void append_asked(const std::vector<Answer>& answers, std::string& out) {
  for (const Answer& answer : answers) out += fmt::format("\n{}\nAnswer: {}", answer.said, answer.letter);
}

void append_listed(std::string_view heading, const std::vector<Answer>& answers, std::string& out) {
  out += fmt::format("\n{}:", heading);
  for (const Answer& answer : answers) {
    out += fmt::format(" {} {}{}", answer.said, answer.letter, &answer == &answers.back() ? "." : ",");
  }
}

// A lesson in answering by letter: the kinds that words can be of, and the letters of many words.
void write_naming_lesson(std::string_view subject, RandomStream& random, std::string& out) {
  const SortingKind& kind = *std::find_if(sorting_kinds().begin(), sorting_kinds().end(),
                                          [&](const SortingKind& one) { return one.subject == subject; });
  std::array<std::string, kChoices> choices;
  std::vector<std::pair<const Phrase*, char>> words;
  for (std::size_t i = 0; i < kChoices; ++i) {
    const Category& category = *named_categories(kind)[i];
    choices[i] = category.name.text;
    for (const Phrase& word : category.members) words.push_back({&word, static_cast<char>('A' + i)});
  }
  shuffle(words, random);
  words.resize(kNamedWords);
  out += lettered("Here are four kinds.", choices);
  const bool is_asked = one_in(2, random);
  std::vector<Answer> answers;
  for (const auto& [word, letter] : words) {
    answers.push_back({is_asked ? naming_question(*word) : std::string(word->text), letter});
  }
  is_asked ? append_asked(answers, out) : append_listed("Words", answers, out);
}

// The same for places that change: four words, where each of them stands, and all that can be asked about them.
void write_lesson(std::string_view subject, RandomStream& random, std::string& out) {
  Story story = draw_sorting_story({.subject = subject}, random);
  std::array<std::size_t, kChoices> order;  // of the choices
  std::iota(order.begin(), order.end(), 0);
  shuffle(order, random);
  std::array<std::string, kChoices> choices;
  std::array<char, kChoices> letters;
  for (std::size_t i = 0; i < kChoices; ++i) {
    choices[i] = story.questions[0].choices[order[i]];
    letters[order[i]] = static_cast<char>('A' + i);
  }
  out += lettered("Here are four words.", choices);
  shuffle(story.questions, random);
  // Word by word, kind by kind, or asked as an examination asks: one of the three, lest one give away another.
  const std::uint64_t form = random.below(3);
  std::vector<Answer> answers;
  for (const Question& question : story.questions) {
    const std::string& said = form == 0   ? question.choices[question.answer]
                              : form == 1 ? question.key
                                          : question.plain_text;
    answers.push_back({said, letters[question.answer]});
  }
  form == 2 ? append_asked(answers, out) : append_listed(form == 0 ? "Words" : "Kinds", answers, out);
}

void write_problem(std::string_view, RandomStream& random, std::string& out) {
  const Problem problem = draw_problem(Side::training, random);
  out += problem_prompt(problem);
  out += ' ';
  out += worked_answer(problem);
}

void write_day(std::string_view, RandomStream& random, std::string& out) {
  out += tell_day(random);
}

void write_game(std::string_view, RandomStream& random, std::string& out) {
  out += tell_game(random);
}

void write_facts(std::string_view, RandomStream& random, std::string& out) {
  out += tell_facts(random);
}

struct DocumentKind {
  Part write;
  std::uint64_t weight;
  // One part is the whole document: where two stories are about the same few things, each would answer the other's
  // questions, and wrongly.
  bool is_short = false;
  bool has_heading = false;  // of an examination
};
constexpr DocumentKind kDocumentKinds[] = {
    {write_labels, 20, true},
    {write_story, 2},
    {write_continuation, 20, true},
    {write_choice, 35, true, true},
    {write_naming_choice, 25, false, true},
    {write_lesson, 10, true},
    {write_naming_lesson, 10, true},
    {write_problem, 6},
    {write_game, 1},
    {write_day, 1},
    {write_facts, 1},
};

// A word takes about five and a half bytes.
constexpr std::size_t kLeastBytes = 450, kMostBytes = 900, kTooLong = 1000;

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

std::string story_context(const Story& story, const Question& question) {
  std::string context = story.text + " ";
  append_capitalised(question.stem, context);
  return context;
}

std::string story_question(const Story& story, const Question& question) {
  return story.text + " " + question.text;
}

std::string choice_heading(std::string_view subject) {
  std::string words(subject);
  std::replace(words.begin(), words.end(), '_', ' ');
  return fmt::format("The following are multiple choice questions (with answers) about {}.\n\n", words);
}

std::string choice_prompt(const Story& story, const Question& question) {
  return lettered(story_question(story, question), question.choices) + "\nAnswer:";
}

std::string problem_prompt(const Problem& problem) {
  return fmt::format("Question: {} {}\nAnswer:", problem.text, problem.question);
}

std::string make_document(std::uint64_t seed, std::uint64_t index) {
  RandomStream random(seed, fmt::format("synthetic_world.document.{}", index));
  const DocumentKind& kind = pick_kind(random);
  const std::string_view subject = pick(story_subjects(), random);
  const std::size_t enough = kLeastBytes + random.below(kMostBytes - kLeastBytes);
  std::string text;
  text.reserve(enough + 512);
  if (kind.has_heading) text += choice_heading(subject);
  std::size_t last = 0;  // the size of the part before
  while (text.size() < enough && text.size() + last < kTooLong) {
    const std::size_t begin = text.size();
    if (last > 0) text += "\n\n";
    kind.write(subject, random, text);
    if (kind.is_short) break;
    last = text.size() - begin;
  }
  return text;
}

}  // namespace crope::data
