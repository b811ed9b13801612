#include "crope/data/world_labels.h"

#include <numeric>

#include "crope/data/world_grammar.h"

namespace crope::data {
namespace {

constexpr LabelKind kLabelKinds[] = {
    {"photos", "Looking at photos", "astronomy", {"photo"}},
    {"screens", "Looking at screens", "conceptual_physics", {"screen"}},
    {"pages", "Turning pages", "elementary_mathematics", {"page"}},
    {"cards", "Playing cards", "formal_logic", {"card"}},
    {"stamps", "Collecting stamps", "high_school_biology", {"stamp"}},
    {"posters", "Hanging up posters", "high_school_geography", {"poster"}},
    {"tiles", "Laying tiles", "miscellaneous", {"tile"}},
    {"plates", "Painting plates", "nutrition", {"plate"}},
};

// What a picture can show, by kind.
struct LabelFamily {
  Phrase name;
  Pool members;
};
constexpr LabelFamily kLabelFamilies[] = {{{"tool"}, Pool::tool},   {{"shape"}, Pool::shape},
                                          {{"toy"}, Pool::toy},     {{"beast"}, Pool::beast},
                                          {{"food"}, Pool::food},   {{"garment"}, Pool::clothing},
                                          {{"place"}, Pool::land}, {{"worker"}, Pool::trade}};

}  // namespace

std::span<const LabelKind> label_kinds() {
  return kLabelKinds;
}

LabelStories draw_labels(const LabelKind& kind, RandomStream& random) {
  const std::span<const Phrase> letters = words_of(Pool::letter);
  std::array<std::size_t, std::size(kLabelFamilies)> families;
  std::iota(families.begin(), families.end(), 0);
  shuffle(families, random);
  std::array<const Phrase*, kChoices> things;
  std::array<std::size_t, kChoices> order;  // in which they are told
  Fingerprint print(kind.name);
  for (std::size_t i = 0; i < kChoices; ++i) {
    things[i] = &pick(words_of(kLabelFamilies[families[i]].members), random);
    print.add({things[i]->text, letters[i].text});
  }
  std::iota(order.begin(), order.end(), 0);
  shuffle(order, random);
  const auto say = [&](std::string_view pattern, std::size_t i, Start start) {
    return expand(pattern,
                  {{"thing", things[i]},
                   {"family", &kLabelFamilies[families[i]].name},
                   {"letter", &letters[i]},
                   {"holder", &kind.holder}},
                  start);
  };
  const auto ask = [&](std::size_t i, std::string_view text, std::string_view stem, std::string_view choice) {
    Question question;
    question.text = say(text, i, Start::sentence);
    question.stem = say(stem, i, Start::fragment);
    question.plain_stem = question.stem;
    for (std::size_t c = 0; c < kChoices; ++c) question.choices[c] = say(choice, c, Start::fragment);
    question.answer = i;
    return question;
  };

  Story story{.kind = kind.name,
              .activity = kind.activity,
              .subject = kind.subject,
              .text = {},
              .questions = {},
              .is_paired = true,
              .fingerprint = print};
  for (const std::size_t i : order) {
    if (!story.text.empty()) story.text += ' ';
    story.text += say("{holder} {letter} has {family:a}, {thing:the}.", i, Start::sentence);
  }
  LabelStories stories{story, story};
  stories.labels.is_ordered = true;
  for (std::size_t i = 0; i < kChoices; ++i) {
    stories.labels.questions.push_back(
        ask(i, "Which {holder} has the {family}?", "the {family} is on", "{holder} {letter}"));
    stories.things.questions.push_back(
        ask(i, "What is on {holder} {letter}?", "on {holder} {letter} is", "{thing:the}"));
  }
  return stories;
}

}  // namespace crope::data
