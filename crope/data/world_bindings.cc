#include "crope/data/world_bindings.h"

#include <numeric>

#include "crope/data/world_grammar.h"

namespace crope::data {
namespace {

struct Binding {
  const Phrase* key = nullptr;
  const Phrase* link = nullptr;
  const Phrase* value = nullptr;
  const Phrase* old = nullptr;   // the value before the change; null: it does not change
  const Phrase* from = nullptr;  // the key that had the value then
};
using Bindings = std::array<Binding, kChoices>;

// What is drawn for the story as a whole.
struct Setting {
  const Phrase* who;
  const Phrase* thing;
  const Phrase* deed;
  std::array<const Phrase*, 2> actors;
};

class Teller {
 public:
  Teller(const StoryKind& kind, RandomStream& random);

  Story tell();

 private:
  const Phrase* draw_word(Pool pool, std::size_t place, Deck& deck);
  void draw_bindings();
  void draw_changes();
  Fingerprint fingerprint() const;
  void say(const StoryKind::Patterns& patterns, const Binding& binding);
  void say_of_each(const StoryKind::Patterns& patterns);
  void fill(std::string_view pattern, const Binding& binding, Start start, std::string& out);
  Question ask(const Binding& binding);

  const StoryKind& kind_;
  RandomStream& random_;
  Deck people_;
  Deck things_;
  Setting setting_{};
  Bindings bindings_{};
  std::array<const Phrase*, kChoices> first_values_{};
  std::string text_;
};

Teller::Teller(const StoryKind& kind, RandomStream& random)
    : kind_(kind), random_(random), people_(Pool::person, random), things_(Pool::thing, random) {
  setting_ = {.who = people_.take(),
              .thing = things_.take(),
              .deed = &pick(deeds(), random),
              .actors = {people_.take(), people_.take()}};
  draw_bindings();
  if (!kind.change.empty() && !one_in(3, random)) draw_changes();
}

// `deck` is for the column; people and things are shared by all columns, so that nobody has two parts in a story.
const Phrase* Teller::draw_word(Pool pool, std::size_t place, Deck& deck) {
  if (pool == Pool::none) return nullptr;
  if (pool == Pool::ordinal) return &words_of(pool)[place];
  if (pool == Pool::person) return people_.take();
  if (pool == Pool::thing) return things_.take();
  return deck.take();
}

void Teller::draw_bindings() {
  Deck keys(kind_.key, random_), links(kind_.link, random_), values(kind_.value, random_);
  for (std::size_t i = 0; i < kChoices; ++i) {
    bindings_[i] = {.key = draw_word(kind_.key, i, keys),
                    .link = draw_word(kind_.link, i, links),
                    .value = draw_word(kind_.value, i, values)};
  }
  if (kind_.tie != Tie::none) {
    const std::array<const Fact*, kChoices> facts = draw_facts(kind_.relation, random_);
    for (std::size_t i = 0; i < kChoices; ++i) {
      bindings_[i].link = &facts[i]->subject;
      (kind_.tie == Tie::key_link ? bindings_[i].key : bindings_[i].value) = &facts[i]->property;
    }
  }
  for (std::size_t i = 0; i < kChoices; ++i) first_values_[i] = bindings_[i].value;
}

// Two, three or four of the values go round in a ring.
void Teller::draw_changes() {
  std::array<std::size_t, kChoices> ring;
  std::iota(ring.begin(), ring.end(), 0);
  shuffle(ring, random_);
  const std::size_t length = 2 + random_.below(kChoices - 1);
  for (std::size_t i = 0; i < length; ++i) {
    Binding& taker = bindings_[ring[i]];
    const std::size_t giver = ring[(i + 1) % length];
    taker.old = taker.value;
    taker.from = bindings_[giver].key;
  }
  for (std::size_t i = 0; i < length; ++i) bindings_[ring[i]].value = first_values_[ring[(i + 1) % length]];
}

Fingerprint Teller::fingerprint() const {
  Fingerprint print(kind_.name);
  for (std::size_t i = 0; i < kChoices; ++i) {
    const Binding& binding = bindings_[i];
    print.add({binding.key->text, binding.link == nullptr ? "" : binding.link->text, first_values_[i]->text,
               binding.value->text});
  }
  return print;
}

void Teller::fill(std::string_view pattern, const Binding& binding, Start start, std::string& out) {
  const Slot slots[] = {
      {"key", binding.key},       {"value", binding.value},   {"link", binding.link},
      {"old", binding.old},       {"from", binding.from},     {"who", setting_.who},
      {"thing", setting_.thing},  {"deed", setting_.deed},    {"actor", setting_.actors[random_.below(2)]},
      {"v1", bindings_[0].value}, {"v2", bindings_[1].value}, {"v3", bindings_[2].value},
      {"v4", bindings_[3].value},
  };
  expand(pattern, slots, start, out);
}

void Teller::say(const StoryKind::Patterns& patterns, const Binding& binding) {
  if (patterns.empty()) return;
  const std::string_view pattern = pick(patterns, random_);
  if (pattern.empty()) return;
  if (!text_.empty()) text_ += ' ';
  fill(pattern, binding, Start::sentence, text_);
}

void Teller::say_of_each(const StoryKind::Patterns& patterns) {
  std::array<std::size_t, kChoices> order;
  std::iota(order.begin(), order.end(), 0);
  shuffle(order, random_);
  for (const std::size_t i : order) {
    Binding told = bindings_[i];
    told.value = first_values_[i];
    say(patterns, told);
  }
}

Question Teller::ask(const Binding& binding) {
  Question question;
  fill(pick(kind_.question, random_), binding, Start::sentence, question.text);
  fill(pick(kind_.stem, random_), binding, Start::fragment, question.stem);
  fill(kind_.stem.front(), binding, Start::fragment, question.plain_stem);
  for (std::size_t i = 0; i < kChoices; ++i) {
    fill(kind_.answer, bindings_[i], Start::fragment, question.choices[i]);
    if (&bindings_[i] == &binding) question.answer = i;
  }
  return question;
}

Story Teller::tell() {
  text_.reserve(256);
  say(kind_.opening, bindings_[0]);
  say(kind_.list, bindings_[0]);
  say_of_each(kind_.tell);
  say_of_each(kind_.then);
  std::array<const Binding*, kChoices> order;
  for (std::size_t i = 0; i < kChoices; ++i) order[i] = &bindings_[i];
  shuffle(order, random_);
  for (const Binding* binding : order) {
    if (binding->old != nullptr) say(kind_.change, *binding);
  }

  Story story{.kind = kind_.name,
              .activity = kind_.activity,
              .subject = kind_.subject,
              .text = std::move(text_),
              .questions = {},
              .is_paired = true,
              .fingerprint = fingerprint()};
  story.questions.reserve(kChoices);
  for (const Binding& binding : bindings_) story.questions.push_back(ask(binding));
  return story;
}

}  // namespace

Story draw_bindings(const StoryKind& kind, RandomStream& random) {
  return Teller(kind, random).tell();
}

}  // namespace crope::data
