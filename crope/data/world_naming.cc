#include "crope/data/world_naming.h"

#include <numeric>

#include "crope/data/world_grammar.h"

namespace crope::data {

std::span<const Category* const> named_categories(const SortingKind& kind) {
  return std::span(kind.categories).first(kChoices);
}

std::string naming_question(const Phrase& word) {
  return expand("Of which kind is the word {word}?", {{"word", &word}}, Start::sentence);
}

Story draw_naming(const SortingKind& kind, RandomStream& random) {
  Deck people(Pool::person, random);
  const Phrase* who = people.take();
  const std::span<const Category* const> named = named_categories(kind);
  std::array<const Phrase*, kChoices> words;
  std::array<std::size_t, kChoices> order;  // in which they are written
  Fingerprint print("naming");
  for (std::size_t i = 0; i < kChoices; ++i) {
    words[i] = &pick(named[i]->members, random);
    print.add({named[i]->name.text, words[i]->text});
  }
  std::iota(order.begin(), order.end(), 0);
  shuffle(order, random);
  Story story{.kind = "naming",
              .activity = "Naming things",
              .subject = kind.subject,
              .text = expand("{who} wrote {v1}, {v2}, {v3} and {v4}.",
                             {{"who", who},
                              {"v1", words[order[0]]},
                              {"v2", words[order[1]]},
                              {"v3", words[order[2]]},
                              {"v4", words[order[3]]}},
                             Start::sentence),
              .questions = {},
              .is_paired = false,
              .is_ordered = true,
              .fingerprint = print};
  for (std::size_t i = 0; i < kChoices; ++i) {
    const auto denied = draw_denied(order, i, random);
    const Slot slots[] = {{"x", words[denied[0]]}, {"y", words[denied[1]]}, {"z", words[denied[2]]}, {"key", words[i]}};
    Question question;
    expand("Of which kind is the word that is not {x}, {y} or {z}, but {key}?", slots, Start::sentence, question.text);
    question.plain_text = naming_question(*words[i]);
    expand("the word that is not {x}, {y} or {z}, but {key}, is of the kind", slots, Start::fragment, question.stem);
    expand("the word {key} is of the kind", slots, Start::fragment, question.plain_stem);
    for (std::size_t c = 0; c < kChoices; ++c) question.choices[c] = named[c]->name.text;
    question.answer = i;
    question.key = words[i]->text;
    story.questions.push_back(std::move(question));
  }
  return story;
}

}  // namespace crope::data
