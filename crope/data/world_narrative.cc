#include "crope/data/world_narrative.h"

#include <algorithm>
#include <array>
#include <utility>
#include <vector>

#include "crope/data/world_draw.h"
#include "crope/data/world_grammar.h"

namespace crope::data {
namespace {

constexpr std::size_t kPeopleOfADay = 3;
constexpr std::size_t kThingsOfADay = 3;
constexpr std::size_t kWalksAnHour = 3;

using Patterns = std::span<const std::string_view>;

constexpr std::string_view kGoing[] = {"{who} went to {place:the}.", "{who} walked to {place:the}.",
                                       "Then {who} went to {place:the}.", "After a while {who} walked to {place:the}.",
                                       "{who} ran to {place:the}."};
constexpr std::string_view kMeeting[] = {"There {who} met {other}.", "{other} was there too.",
                                         "{other} was already {place:at}."};
constexpr std::string_view kFinding[] = {"{who} found {thing:a} and picked it up.",
                                         "{who} saw {thing:a} on the ground and took it.",
                                         "There was {thing:a} {place:at}, and {who} took it."};
constexpr std::string_view kFindingAgain[] = {"{who} found {thing:the} and picked it up.",
                                              "{thing:the} was still there, and {who} took it."};
constexpr std::string_view kGiving[] = {"{who} gave {thing:the} to {other}.", "{who} handed {thing:the} to {other}.",
                                        "{other} got {thing:the} from {who}."};
constexpr std::string_view kThanks[] = {"{other} said thank you.", "{other} was glad.", "{other} smiled."};
constexpr std::string_view kDropping[] = {"{who} put {thing:the} down and left it there.",
                                          "{who} did not want {thing:the} any more and left it {place:at}."};
constexpr std::string_view kGoingLater[] = {"At noon {who} went to {place:the}.",
                                            "In the afternoon {who} went to {place:the}.",
                                            "In the evening {who} walked to {place:the}."};

constexpr std::string_view kBeing[] = {"{who} was {place:at}."};

class Day {
 public:
  explicit Day(RandomStream& random);

  std::string tell();

 private:
  struct Person {
    const Phrase* name;
    const Phrase* place;
    std::size_t thing = kThingsOfADay;  // kThingsOfADay: none
    const Phrase* before = nullptr;     // the place before this one: nobody goes right back
  };
  struct Thing {
    const Phrase* name;
    const Phrase* place;  // null while somebody has it
    bool is_known = false;
    const Person* last_owner = nullptr;  // who found it last: nobody finds it twice running, or gets it back
  };

  void say(Patterns patterns, const Person& who, const Person* other, const Thing* thing);
  void act();
  void walk(Person& who);
  void suffer(Person& who);
  void close();
  const Person* companion_of(const Person& who) const;
  Thing* thing_at(const Phrase* place);

  RandomStream& random_;
  std::array<const Phrase*, 4> places_;
  std::array<Person, kPeopleOfADay> people_;
  std::array<Thing, kThingsOfADay> things_;
  std::size_t actor_ = 0;
  std::size_t walks_ = 0;
  std::size_t last_cause_ = causes().size();  // the same thing does not happen twice running
  const Person* subject_ = nullptr;           // of the last sentence, where a pronoun can only mean that person
  std::string text_;
};

Day::Day(RandomStream& random) : random_(random) {
  Deck places(Pool::place, random), people(Pool::person, random), things(Pool::thing, random);
  for (const Phrase*& place : places_) place = places.take();
  for (Person& person : people_) person = {people.take(), pick(places_, random)};
  for (Thing& thing : things_) thing = {things.take(), pick(places_, random)};
}

void Day::say(Patterns patterns, const Person& who, const Person* other, const Thing* thing) {
  const Phrase pronoun{.text = who.name->pronoun == Pronoun::she ? "she" : "he", .pronoun = who.name->pronoun};
  const bool is_understood = subject_ == &who && !one_in(3, random_);
  const std::string_view pattern = pick(patterns, random_);
  // "from she" is not English: a pronoun only stands where the subject does.
  const bool can_shorten = is_understood && pattern.find("from {who}") == std::string_view::npos;
  const Slot slots[] = {{"who", can_shorten ? &pronoun : who.name},
                        {"other", other == nullptr ? nullptr : other->name},
                        {"thing", thing == nullptr ? nullptr : thing->name},
                        {"place", who.place}};
  if (!text_.empty()) text_ += ' ';
  expand(pattern, slots, Start::sentence, text_);
  const bool is_ambiguous = other != nullptr && other->name->pronoun == who.name->pronoun;
  subject_ = is_ambiguous || pattern.starts_with("{other}") ? nullptr : &who;
}

const Day::Person* Day::companion_of(const Person& who) const {
  for (const Person& person : people_) {
    if (&person != &who && person.place == who.place) return &person;
  }
  return nullptr;
}

Day::Thing* Day::thing_at(const Phrase* place) {
  for (Thing& thing : things_) {
    if (thing.place == place) return &thing;
  }
  return nullptr;
}

void Day::walk(Person& who) {
  const Phrase* place = pick(places_, random_);
  while (place == who.place || place == who.before) place = pick(places_, random_);
  who.before = std::exchange(who.place, place);
  // The hours come in their order, every few walks.
  const std::size_t hour = ++walks_ / kWalksAnHour;
  if (walks_ % kWalksAnHour == 0 && hour <= std::size(kGoingLater)) {
    say(std::span(kGoingLater).subspan(hour - 1, 1), who, nullptr, nullptr);
  } else {
    say(kGoing, who, nullptr, nullptr);
  }
  if (const Person* other = companion_of(who)) say(kMeeting, who, other, nullptr);
}

void Day::suffer(Person& who) {
  const std::size_t number = random_.below(causes().size());
  if (std::exchange(last_cause_, number) == number) return walk(who);
  const Cause& cause = causes()[number];
  const std::string pattern = std::string(cause.cause) + ", " + std::string(cause.effect) + ".";
  const std::string_view patterns[] = {pattern};
  say(patterns, who, nullptr, nullptr);
}

void Day::act() {
  if (one_in(3, random_)) actor_ = random_.below(kPeopleOfADay);
  Person& who = people_[actor_];
  const Person* other = companion_of(who);
  if (who.thing == kThingsOfADay) {
    Thing* thing = thing_at(who.place);
    if (thing != nullptr && thing->last_owner != &who) {
      say(thing->is_known ? Patterns(kFindingAgain) : Patterns(kFinding), who, nullptr, thing);
      *thing = {thing->name, nullptr, /*is_known=*/true, &who};
      who.thing = static_cast<std::size_t>(thing - things_.data());
      walk(who);
      return;
    }
  } else if (other != nullptr && other->thing == kThingsOfADay && things_[who.thing].last_owner != other) {
    say(kGiving, who, other, &things_[who.thing]);
    if (one_in(2, random_)) say(kThanks, who, other, nullptr);
    people_[static_cast<std::size_t>(other - people_.data())].thing = std::exchange(who.thing, kThingsOfADay);
    return;
  } else if (one_in(3, random_)) {
    say(kDropping, who, nullptr, &things_[who.thing]);
    things_[std::exchange(who.thing, kThingsOfADay)].place = who.place;
    walk(who);
    return;
  }
  one_in(5, random_) ? suffer(who) : walk(who);
}

void Day::close() {
  constexpr std::string_view kLying[] = {"At the end of the day {thing:the} was {place:at}.",
                                         "{thing:the} was {place:at}."};
  constexpr std::string_view kKept[] = {"At the end of the day {who} had {thing:the}.", "{who} had {thing:the}."};
  std::size_t form = 0;  // "at the end of the day" is said once
  for (const Thing& thing : things_) {
    if (!thing.is_known) continue;
    const Person* owner = nullptr;
    for (const Person& person : people_) {
      if (person.thing == static_cast<std::size_t>(&thing - things_.data())) owner = &person;
    }
    if (owner != nullptr) {
      say(std::span(kKept).subspan(form, 1), *owner, nullptr, &thing);
    } else {
      say(std::span(kLying).subspan(form, 1), {.name = people_[0].name, .place = thing.place}, nullptr, &thing);
      subject_ = nullptr;
    }
    form = 1;
  }
  for (const Person& person : people_) say(kBeing, person, nullptr, nullptr);
}

std::string Day::tell() {
  constexpr std::string_view kWaking[] = {"It was morning, and {who} was {place:at}.",
                                          "One morning {who} was {place:at}.",
                                          "Early in the day {who} was {place:at}."};
  say(kWaking, people_[0], nullptr, nullptr);
  for (std::size_t i = 1; i < kPeopleOfADay; ++i) say(kBeing, people_[i], nullptr, nullptr);
  for (std::size_t steps = 7 + random_.below(5); steps > 0; --steps) act();
  close();
  return std::move(text_);
}

}  // namespace

std::string tell_day(RandomStream& random) {
  return Day(random).tell();
}

std::string tell_game(RandomStream& random) {
  constexpr std::string_view kOpenings[] = {
      "{a} and {b} played with {v:a}, {w:a}, {x:a}, {y:a} and {z:a}.",
      "There were five toys in the house: {v:a}, {w:a}, {x:a}, {y:a} and {z:a}. {a} and {b} played with them."};
  constexpr std::string_view kMoves[] = {
      "{a} put {x:the} on {y:the}.",
      "{a} showed {x:the} to {b}.",
      "{a} looked for {x:the}.",
      "{a} took {x:the} and {y:the}.",
      "{x:the} fell on {y:the}.",
      "{x:the} was next to {y:the}.",
      "{a} liked {x:the} more than {y:the}.",
      "Then {a} hid {x:the} behind {y:the}.",
      "{a} danced around {x:the}.",
      "{b} asked {a} for {x:the}.",
  };
  Deck people(Pool::person, random), families(Pool::family, random), colours(Pool::colour, random);
  Deck things(Pool::thing, random);
  std::array<std::string, 2> names;
  for (std::string& name : names) {
    name = std::string(people.take()->text) + " ";
    name += families.take()->text;
  }
  std::array<std::string, 5> toys;
  for (std::string& toy : toys) {
    toy = std::string(colours.take()->text) + " ";
    toy += things.take()->text;
  }
  std::array<Phrase, 2> who = {Phrase{names[0]}, Phrase{names[1]}};
  std::array<Phrase, 5> what;
  for (std::size_t i = 0; i < what.size(); ++i) what[i] = {toys[i]};

  std::string text;
  for (std::size_t sentences = 11 + random.below(8), i = 0; i < sentences; ++i) {
    if (i > 0) text += ' ';
    const Slot slots[] = {{"a", &who[0]},  {"b", &who[1]},  {"v", &what[0]}, {"w", &what[1]},
                          {"x", &what[2]}, {"y", &what[3]}, {"z", &what[4]}};
    expand(i == 0 ? pick(kOpenings, random) : pick(kMoves, random), slots, Start::sentence, text);
    shuffle(who, random);
    shuffle(what, random);
  }
  return text;
}

std::string tell_facts(RandomStream& random) {
  constexpr std::string_view kHeadings[] = {"This is about {topic}.", "Let us talk about {topic}.",
                                            "Here is something to know about {topic}."};
  const auto relation = static_cast<Relation>(1 + random.below(kRelationCount - 1));
  const Phrase topic{topic_of(relation)};
  std::string text = expand(pick(kHeadings, random), {{"topic", &topic}}, Start::sentence);
  std::vector<const Fact*> facts;
  for (const Fact& fact : facts_of(relation)) facts.push_back(&fact);
  shuffle(facts, random);
  facts.resize(std::min<std::size_t>(facts.size(), 8));
  for (const Fact* fact : facts) {
    text += ' ';
    text += expand(pick(statements_of(relation), random), {{"subject", &fact->subject}, {"property", &fact->property}},
                   Start::sentence);
  }
  return text;
}

}  // namespace crope::data
