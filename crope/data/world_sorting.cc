#include "crope/data/world_sorting.h"

#include <algorithm>
#include <numeric>

#include "crope/base/error.h"
#include "crope/data/world_grammar.h"

namespace crope::data {
namespace {

constexpr Phrase kSortedTrades[] = {{"baker"},   {"doctor"}, {"teacher"}, {"farmer"},
                                    {"painter"}, {"sailor"}, {"tailor"}};
constexpr Phrase kBeasts[] = {{"dog"}, {"cat"}, {"cow"}, {"pig"}, {"horse"}, {"goat"}, {"sheep"}};
constexpr Phrase kToys[] = {{"ball"}, {"doll"}, {"kite"}, {"drum"}, {"bell"}, {"puzzle"}, {"rope"}};
constexpr Phrase kBuildings[] = {{"school"}, {"library"}, {"station"}, {"tower"}, {"mill"}, {"barn"}, {"house"}};
constexpr Phrase kSortedContainers[] = {{"box"}, {"bag"}, {"basket"}, {"drawer"}, {"jar"}, {"bucket"}, {"pot"}};
constexpr Phrase kPlanets[] = {{"Mercury"}, {"Venus"}, {"Mars"}, {"Jupiter"}, {"Saturn"}, {"Neptune"}, {"Uranus"}};
constexpr Phrase kMonths[] = {{"January"}, {"March"}, {"April"}, {"June"}, {"July"}, {"August"}, {"October"}};
constexpr Phrase kSeasons[] = {{"spring"}, {"summer"}, {"autumn"}, {"winter"}};
constexpr Phrase kNumbers[] = {{"three"}, {"six"}, {"seven"}, {"nine"}, {"ten"}, {"eleven"}, {"twelve"}};
constexpr Phrase kMetals[] = {{"iron"}, {"gold"}, {"silver"}, {"copper"}, {"lead"}, {"tin"}, {"zinc"}};
constexpr Phrase kLiquids[] = {{"water"}, {"milk"}, {"oil"}, {"juice"}, {"tea"}, {"ink"}, {"soup"}};
constexpr Phrase kSounds[] = {{"moo"}, {"meow"}, {"woof"}, {"quack"}, {"oink"}, {"baa"}};
constexpr Phrase kShapes[] = {{"circle"}, {"square"}, {"triangle"}, {"cube"}, {"cone"}, {"ring"}, {"cross"}};
constexpr Phrase kFruits[] = {{"apple"}, {"pear"}, {"plum"}, {"banana"}, {"cherry"}, {"lemon"}, {"grape"}};
constexpr Phrase kVegetables[] = {{"carrot"}, {"onion"}, {"potato"}, {"cabbage"}, {"bean"}, {"pea"}, {"leek"}};
constexpr Phrase kSweets[] = {{"candy"}, {"lollipop"}, {"chocolate"}, {"honey"}, {"cake"}, {"jam"}, {"pie"}};
constexpr Phrase kBirds[] = {{"owl"}, {"hen"}, {"duck"}, {"swan"}, {"eagle"}, {"crow"}, {"goose"}};
constexpr Phrase kInsects[] = {{"bee"}, {"ant"}, {"wasp"}, {"beetle"}, {"moth"}, {"fly"}, {"flea"}};
constexpr Phrase kFish[] = {{"trout"}, {"salmon"}, {"shark"}, {"cod"}, {"eel"}, {"carp"}, {"tuna"}};
constexpr Phrase kTrees[] = {{"oak"}, {"pine"}, {"birch"}, {"willow"}, {"elm"}, {"fir"}, {"maple"}};
constexpr Phrase kCountries[] = {{"France"}, {"Spain"}, {"China"}, {"Egypt"}, {"Peru"}, {"Italy"}, {"Kenya"}};
constexpr Phrase kCities[] = {{"Paris"}, {"Rome"}, {"London"}, {"Berlin"}, {"Tokyo"}, {"Cairo"}, {"Madrid"}};
constexpr Phrase kWays[] = {{"north"}, {"south"}, {"east"}, {"west"}};
constexpr Phrase kUnits[] = {{"metre"}, {"mile"}, {"litre"}, {"gram"}, {"hour"}, {"minute"}, {"inch"}};

const std::vector<Category> kCategories = {
    {{"colour"}, words_of(Pool::colour)},
    {{"day"}, words_of(Pool::day)},
    {{"trade"}, kSortedTrades},
    {{"beast"}, kBeasts},
    {{"toy"}, kToys},
    {{"building"}, kBuildings},
    {{"container"}, kSortedContainers},
    {{"planet"}, kPlanets},
    {{"month"}, kMonths},
    {{"season"}, kSeasons},
    {{"number"}, kNumbers},
    {{"metal"}, kMetals},
    {{"liquid"}, kLiquids},
    {{"sound"}, kSounds},
    {{"shape"}, kShapes},
    {{"fruit"}, kFruits},
    {{"vegetable"}, kVegetables},
    {{"sweet"}, kSweets},
    {{"bird"}, kBirds},
    {{"insect"}, kInsects},
    {{"fish"}, kFish},
    {{"tree"}, kTrees},
    {{"country"}, kCountries},
    {{"city"}, kCities},
    {{"direction"}, kWays},
    {{"unit"}, kUnits},
};

struct SubjectRow {
  std::string_view subject;
  std::vector<std::string_view> categories;  // the last one has no part in naming
};
const SubjectRow kSubjects[] = {
    {"astronomy", {"day", "month", "number", "planet", "season"}},
    {"conceptual_physics", {"colour", "liquid", "metal", "shape", "sound"}},
    {"elementary_mathematics", {"container", "number", "shape", "unit", "day"}},
    {"formal_logic", {"beast", "building", "container", "trade", "colour"}},
    {"high_school_biology", {"bird", "fish", "insect", "tree", "beast"}},
    {"high_school_geography", {"building", "city", "country", "tree", "direction"}},
    {"miscellaneous", {"beast", "colour", "day", "toy", "trade"}},
    {"nutrition", {"fruit", "liquid", "sweet", "vegetable", "fish"}},
};

const Category* category_named(std::string_view name) {
  for (const Category& category : kCategories) {
    if (category.name.text == name) return &category;
  }
  throw Error("the small world has no category '" + std::string(name) + "'", {});
}

constexpr std::string_view kTellings[] = {"{who} wrote {v1}, {v2}, {v3} and {v4}.",
                                          "{who} read the words {v1}, {v2}, {v3} and {v4}."};

}  // namespace

std::span<const Category> categories() {
  return kCategories;
}

std::span<const SortingKind> sorting_kinds() {
  static const std::vector<SortingKind> kinds = [] {
    std::vector<SortingKind> made;
    for (const SubjectRow& row : kSubjects) {
      SortingKind kind{.subject = row.subject, .categories = {}};
      for (const std::string_view name : row.categories) kind.categories.push_back(category_named(name));
      made.push_back(std::move(kind));
    }
    return made;
  }();
  return kinds;
}

std::array<std::size_t, kChoices - 1> draw_denied(std::array<std::size_t, kChoices> order, std::size_t place,
                                                  RandomStream& random) {
  std::swap(*std::find(order.begin(), order.end(), place), order.back());
  std::array<std::size_t, kChoices - 1> denied;
  std::copy_n(order.begin(), denied.size(), denied.begin());
  shuffle(denied, random);
  return denied;
}

Story draw_sorting(const SortingKind& kind, RandomStream& random) {
  Deck people(Pool::person, random);
  const Phrase* who = people.take();
  std::vector<const Category*> drawn = kind.categories;
  shuffle(drawn, random);
  std::array<const Phrase*, kChoices> words;
  Fingerprint print("sorting");
  for (std::size_t i = 0; i < kChoices; ++i) {
    words[i] = &pick(drawn[i]->members, random);
    print.add({drawn[i]->name.text, words[i]->text});
  }
  Story story{.kind = "sorting",
              .activity = "Sorting words",
              .subject = kind.subject,
              .text = expand(pick(kTellings, random),
                             {{"who", who}, {"v1", words[0]}, {"v2", words[1]}, {"v3", words[2]}, {"v4", words[3]}},
                             Start::sentence),
              .questions = {},
              .is_paired = false,
              .fingerprint = print};
  std::array<std::size_t, kChoices> order;
  std::iota(order.begin(), order.end(), 0);
  for (std::size_t i = 0; i < kChoices; ++i) {
    const auto denied = draw_denied(order, i, random);
    const Slot slots[] = {{"x", &drawn[denied[0]]->name},
                          {"y", &drawn[denied[1]]->name},
                          {"z", &drawn[denied[2]]->name},
                          {"key", &drawn[i]->name}};
    Question question;
    expand("Which word is not {x:a}, {y:a} or {z:a}, but {key:a}?", slots, Start::sentence, question.text);
    expand("Which word is {key:a}?", slots, Start::sentence, question.plain_text);
    expand("the word that is not {x:a}, {y:a} or {z:a}, but {key:a}, is", slots, Start::fragment, question.stem);
    expand("the {key} is", slots, Start::fragment, question.plain_stem);
    for (std::size_t c = 0; c < kChoices; ++c) question.choices[c] = words[c]->text;
    question.answer = i;
    question.key = drawn[i]->name.text;
    story.questions.push_back(std::move(question));
  }
  return story;
}

}  // namespace crope::data
