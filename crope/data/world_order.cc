#include "crope/data/world_order.h"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>

#include "crope/data/world_grammar.h"

namespace crope::data {
namespace {

using People = std::array<const Phrase*, kChoices>;

People draw_people(RandomStream& random) {
  Deck deck(Pool::person, random);
  People people;
  for (const Phrase*& person : people) person = deck.take();
  return people;
}

// Asks which of the four is the one that `quality` ("the tallest") is said of.
Question ask_who(const People& people, std::size_t answer, std::string_view quality) {
  Question question{.text = fmt::format("Who is {}?", quality),
                    .stem = fmt::format("the child who is {} is", quality),
                    .plain_stem = {},
                    .choices = {},
                    .answer = answer};
  question.plain_stem = question.stem;
  for (std::size_t i = 0; i < kChoices; ++i) question.choices[i] = people[i]->text;
  return question;
}

// How a row of things is told and asked.
struct RowKind {
  std::string_view activity;
  Pool pool;
  std::string_view telling;  // {who}, {v1} to {v5}
  std::string_view after, before;
  std::string_view stem_after, stem_before;  // {who}, {key}
  std::string_view answer;                   // {value}
};

constexpr RowKind kRows[] = {
    {"Going for a walk", Pool::place,
     "{who} went for a walk. First {who:he} went to {v1:the}, then to {v2:the}, then to {v3:the}, then to {v4:the} and "
     "last to {v5:the}.",
     "Where did {who} go right after {key:the}?", "Where was {who} right before {key:the}?",
     "right after {key:the} {who} went to", "right before {key:the} {who} was at", "{value:the}"},
    {"Standing in a line", Pool::person,
     "In the line {v1} stood first. Then came {v2}, {v3}, {v4} and {v5}, in that order.",
     "Who stood right behind {key}?", "Who stood right in front of {key}?", "right behind {key} stood",
     "right in front of {key} stood", "{value}"},
    {"Making a chain", Pool::colour,
     "{who} made a chain of five beads. From left to right they were {v1}, {v2}, {v3}, {v4} and {v5}.",
     "Which bead comes right after the {key} one?", "Which bead comes right before the {key} one?",
     "right after the {key} bead comes", "right before the {key} bead comes", "the {value} one"},
    {"Packing a bag", Pool::thing,
     "{who} packed a bag. {who:he} put in {v1:a}, then {v2:a}, then {v3:a}, then {v4:a}, and at the end {v5:a}.",
     "What did {who} put in right after {key:the}?", "What did {who} put in right before {key:the}?",
     "right after {key:the} {who} put in", "right before {key:the} {who} put in", "{value:the}"},
};
constexpr std::size_t kRowLength = kChoices + 1;

}  // namespace

Story draw_comparison(RandomStream& random) {
  const Scale& scale = pick(scales(), random);
  const People people = draw_people(random);  // from the most to the least
  // A ring of pairs (higher, lower): each name stands in two of them, so that counting names tells nothing.
  std::array<std::pair<std::size_t, std::size_t>, kChoices> pairs = {{{0, 1}, {1, 2}, {2, 3}, {0, 3}}};
  shuffle(pairs, random);

  Fingerprint print("comparison");
  for (std::size_t i = 0; i < kChoices; ++i) print.add({people[i]->text, std::to_string(i), scale.most});
  Story story{.kind = "comparison",
              .activity = "Comparing children",
              .subject = "formal_logic",
              .text = {},
              .questions = {},
              .is_paired = false,
              .fingerprint = print};
  for (const auto& [higher, lower] : pairs) {
    const bool turned = one_in(2, random);
    const Phrase quality{turned ? scale.less : scale.more};
    if (!story.text.empty()) story.text += ' ';
    story.text +=
        expand("{a} is {quality} than {b}.",
               {{"a", people[turned ? lower : higher]}, {"quality", &quality}, {"b", people[turned ? higher : lower]}},
               Start::sentence);
  }
  story.questions.push_back(ask_who(people, 0, fmt::format("the {}", scale.most)));
  story.questions.push_back(ask_who(people, kChoices - 1, fmt::format("the {}", scale.least)));
  return story;
}

Story draw_ages(RandomStream& random) {
  const People people = draw_people(random);
  std::array<int, 17> ages;
  std::iota(ages.begin(), ages.end(), 2);
  shuffle(ages, random);

  Fingerprint print("ages");
  for (std::size_t i = 0; i < kChoices; ++i) print.add({people[i]->text, std::to_string(ages[i])});
  Story story{.kind = "ages",
              .activity = "Counting years",
              .subject = "elementary_mathematics",
              .text = {},
              .questions = {},
              .is_paired = false,
              .fingerprint = print};
  for (std::size_t i = 0; i < kChoices; ++i) {
    if (i > 0) story.text += ' ';
    story.text += expand("{a} is {n} years old.", {{"a", people[i]}, {"n", nullptr, ages[i]}}, Start::sentence);
  }
  const auto [youngest, oldest] = std::minmax_element(ages.begin(), ages.begin() + kChoices);
  story.questions.push_back(ask_who(people, static_cast<std::size_t>(oldest - ages.begin()), "the oldest"));
  story.questions.push_back(ask_who(people, static_cast<std::size_t>(youngest - ages.begin()), "the youngest"));
  return story;
}

Story draw_neighbours(RandomStream& random) {
  const RowKind& kind = pick(kRows, random);
  Deck people(Pool::person, random), words(kind.pool, random);
  const Phrase* who = people.take();
  std::array<const Phrase*, kRowLength> row;
  Fingerprint print(kind.activity);
  for (std::size_t i = 0; i < kRowLength; ++i) {
    row[i] = words.take();
    print.add({row[i]->text, std::to_string(i)});
  }
  Story story{
      .kind = "neighbours",
      .activity = kind.activity,
      .subject = "elementary_mathematics",
      .text = expand(kind.telling,
                     {{"who", who}, {"v1", row[0]}, {"v2", row[1]}, {"v3", row[2]}, {"v4", row[3]}, {"v5", row[4]}},
                     Start::sentence),
      .questions = {},
      .is_paired = false,
      .fingerprint = print};
  for (std::size_t key = 0; key < kRowLength; ++key) {
    for (const bool after : {true, false}) {
      if (key == (after ? kRowLength - 1 : 0)) continue;
      const Slot slots[] = {{"who", who}, {"key", row[key]}};
      Question question;
      expand(after ? kind.after : kind.before, slots, Start::sentence, question.text);
      expand(after ? kind.stem_after : kind.stem_before, slots, Start::fragment, question.stem);
      question.plain_stem = question.stem;
      // The choices are the other four: the key itself would stand once more in the context than they do.
      for (std::size_t i = 0, choice = 0; i < kRowLength; ++i) {
        if (i == key) continue;
        if (i == (after ? key + 1 : key - 1)) question.answer = choice;
        question.choices[choice++] = expand(kind.answer, {{"value", row[i]}}, Start::fragment);
      }
      story.questions.push_back(std::move(question));
    }
  }
  return story;
}

}  // namespace crope::data
